#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""A small S3 server for tests, on loopback, of Python's standard library alone.

    s3_server.py --data DIR --ready FILE [OPTION...]

It prints its port, and writes it to FILE when it answers. An object is the file
DIR/BUCKET/KEY, whose time is the object's; what a test does to the file is done to the object.
Its other properties are in DIR/.meta/BUCKET/KEY. A key that is a directory of another one
cannot be stored.

It verifies AWS Signature Version 4 in the header Authorization, by the published description
of the algorithm, not by the code it tests. A bucket is the first component of the path, or
the host's name before the domain.

--control FILE holds further options, read again whenever the file changes: what a server does
can be changed under a client. --log FILE gets a line for each request, before its answer:

    METHOD TARGET RANGE STATUS

METHOD is COPY for a PUT that copies. TARGET is the bucket and the key, percent-encoded, and the
query; RANGE is as asked for; "-" is none, and the status of a request that was cut.

/_/credentials is a container's endpoint for credentials, /latest one of an instance, and POST /
of a token service: they hand out the last --key.

It ends when the process that started it ends, unless --stay is given. t/support/loopback.py
has what it shares with the proxy that makes faults.
"""
import base64
import datetime
import email.utils
import hashlib
import hmac
import http.server
import json
import os
import re
import shutil
import socketserver
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse
import xml.etree.ElementTree
from xml.sax.saxutils import escape

sys.dont_write_bytecode = True
import loopback

NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/"
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


def options():
    parser = loopback.parser(__doc__)
    add = parser.add_argument
    add("--data", required=True, metavar="DIR", help="directory of the buckets")
    add("--bucket", action="append", default=[], help="make it at the start (bucket)")
    add("--tls", metavar="FILE", help="certificate and key as PEM")
    add("--domain", default="localhost", help="BUCKET.domain is a bucket's host")
    add("--region", default="us-east-1")
    add("--key", action="append", default=[], metavar="ID:SECRET[:TOKEN[:EXPIRES]]",
        help="a key that may sign (test:secret); EXPIRES in seconds since 1970")
    add("--anonymous", action="store_true", help="answer requests without a signature")
    add("--sessions", type=int, default=0, metavar="N",
        help="hand out keys with tokens of their own, each good for N requests")
    add("--container-token", default="", help="what /_/credentials asks for")
    add("--ignore-conditions", action="store_true", help="as if If-None-Match were not there")
    add("--refuse-conditions", action="store_true", help="501 to a put with If-None-Match")
    add("--conflicts", type=int, default=0, metavar="N",
        help="409 to the first N puts with If-None-Match")
    add("--ignore-ranges", action="store_true", help="answer a range with the whole object")
    add("--stale-list", type=int, default=0, metavar="N",
        help="a listing is what it was before the last N changes")
    add("--max-keys", type=int, default=1000, metavar="N", help="keys in a listing at most")
    add("--min-part", type=int, default=5 << 20, metavar="BYTES",
        help="smallest part of an upload but for the last")
    add("--delay", type=float, default=0, metavar="MS", help="wait before each answer")
    add("--clock-skew", type=float, default=0, metavar="S", help="added to the clock")
    return parser


class Refused(Exception):
    """An answer with an error."""

    def __init__(self, status, code, message="", headers=(), **more):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message or code
        self.headers, self.more = dict(headers), more


class Cut(Exception):
    """The client went away in the middle of a body."""


# ---- objects ---------------------------------------------------------------------------


def component(name):
    """A component of a key as a file's name."""
    quoted = urllib.parse.quote(name, safe=" !#$&'()+,;=@[]^{}~")
    if name.startswith("."):
        quoted = "%2E" + quoted[1:]
    return quoted or "%"


class Store:
    def __init__(self, data):
        self.data, self.lock = data, threading.RLock()
        self.changes = {}  # bucket: [(key, was there before)], oldest first
        self.temporary = os.path.join(data, ".tmp")
        os.makedirs(self.temporary, exist_ok=True)

    def bucket(self, name):
        path = os.path.join(self.data, name)
        if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,62}", name) or not os.path.isdir(path):
            raise Refused(404, "NoSuchBucket", BucketName=name)
        return path

    def paths(self, bucket, key):
        """The files of an object's bytes and of its properties."""
        below = [component(part) for part in key.split("/")]
        return (os.path.join(self.bucket(bucket), *below),
                os.path.join(self.data, ".meta", bucket, *below))

    def open(self, bucket, key):
        """Its file, status and properties; all of one put."""
        path, meta = self.paths(bucket, key)
        with self.lock:
            try:
                file = open(path, "rb")
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                raise Refused(404, "NoSuchKey", "The specified key does not exist.",
                              Key=key) from None
            try:
                with open(meta, encoding="utf-8") as text:
                    about = json.load(text)
            except FileNotFoundError:  # a file that a test put there
                about = {"etag": "0" * 32, "headers": {}}
        return file, os.fstat(file.fileno()), about

    def commit(self, bucket, key, path, about, new, when):
        """Name the file at @p path, unless there is one and @p new asks for none."""
        target, meta = self.paths(bucket, key)
        with self.lock:
            there = os.path.isfile(target)
            if new and there:
                raise Refused(412, "PreconditionFailed",
                              "At least one of the pre-conditions you specified did not hold",
                              Condition="If-None-Match")
            try:
                os.makedirs(os.path.dirname(target), exist_ok=True)
                os.makedirs(os.path.dirname(meta), exist_ok=True)
                with open(meta, "w", encoding="utf-8") as text:
                    json.dump(about, text)
                os.utime(path, (when, when))
                os.rename(path, target)
            except (FileExistsError, NotADirectoryError, IsADirectoryError):
                raise Refused(501, "NotImplemented",
                              "a key that is a directory of another one") from None
            self.changes.setdefault(bucket, []).append((key, there))

    def remove(self, bucket, key):
        path, meta = self.paths(bucket, key)
        with self.lock:
            for name in (path, meta):
                try:
                    os.unlink(name)
                except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                    continue
                if name == path:
                    self.changes.setdefault(bucket, []).append((key, True))

    def keys(self, bucket, stale):
        """All keys before the last @p stale changes, in the order of their bytes."""
        top, keys = self.bucket(bucket), set()
        with self.lock:
            for folder, _, files in os.walk(top):
                within = os.path.relpath(folder, top)
                parts = [] if within == "." else within.split(os.sep)
                keys.update("/".join(urllib.parse.unquote(part) if part != "%" else ""
                                     for part in parts + [name]) for name in files)
            changes = self.changes.get(bucket, [])
            for key, there in reversed(changes[len(changes) - min(stale, len(changes)):]):
                (keys.add if there else keys.discard)(key)
        return sorted(keys, key=str.encode)

    def listed(self, bucket, key):
        """What a listing says of a key: bytes, time, ETag; zeros if it is gone since."""
        try:
            file, status, about = self.open(bucket, key)
        except Refused:
            return 0, 0, "0" * 32
        file.close()
        return status.st_size, status.st_mtime, about["etag"]


# ---- the signature ---------------------------------------------------------------------


def encode(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-_.~")


def hmac_sha256(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def verify_signature(request, options, now, sessions):
    """Raise Refused unless a known key has signed the request."""
    fields = request.headers.get("Authorization")
    if fields is None:
        if options.anonymous:
            return
        raise Refused(403, "AccessDenied", "Access Denied")
    match = re.fullmatch(r"AWS4-HMAC-SHA256 +Credential=([^,/]+)/([0-9]{8})/([^,/]+)/([^,/]+)/"
                         r"aws4_request, *SignedHeaders=([a-z0-9;.-]+), *"
                         r"Signature=([0-9a-f]{64})", fields)
    if not match:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      "The authorization header is malformed")
    identity, day, region, service, signed, signature = match.groups()
    if service != "s3":
        raise Refused(400, "AuthorizationHeaderMalformed",
                      f"incorrect service '{service}'; expecting 's3'")
    if region != options.region:
        raise Refused(400, "AuthorizationHeaderMalformed",
                      f"the region '{region}' is wrong; expecting '{options.region}'",
                      Region=options.region)
    keys = {text.split(":")[0]: (text.split(":") + ["", ""])[:4]
            for text in options.key or ["test:secret"]}
    if identity not in keys:
        raise Refused(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not "
                      "exist in our records.", AWSAccessKeyId=identity)
    _, secret, token, expires = keys[identity]

    stamp = request.headers.get("x-amz-date", "")
    try:
        when = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
    except ValueError:
        raise Refused(403, "AccessDenied", "AWS authentication requires a valid Date or "
                      "x-amz-date header") from None
    if not stamp.startswith(day):
        raise Refused(400, "AuthorizationHeaderMalformed", "Invalid credential date")
    if abs(when.replace(tzinfo=datetime.timezone.utc).timestamp() - now) > 15 * 60:
        raise Refused(403, "RequestTimeTooSkewed", "The difference between the request time "
                      "and the current time is too large.", RequestTime=stamp,
                      MaxAllowedSkewMilliseconds="900000")

    names = signed.split(";")
    have = {name.lower() for name in request.headers.keys()}
    want = {"host"} | {name for name in have if name.startswith("x-amz-")}
    if names != sorted(set(names)) or not want <= set(names) or not set(names) <= have:
        raise Refused(403, "AccessDenied", "There were headers present in the request which "
                      "were not signed", HeadersNotSigned=", ".join(sorted(want - set(names))))
    content = request.headers.get("x-amz-content-sha256")
    if content is None:
        raise Refused(400, "InvalidRequest",
                      "Missing required header for this request: x-amz-content-sha256")
    if request.left == 0 and content not in (EMPTY_SHA256, "UNSIGNED-PAYLOAD"):
        raise Refused(400, "XAmzContentSHA256Mismatch",
                      "The provided 'x-amz-content-sha256' header is not that of no bytes.")
    path, _, query = request.target.partition("?")
    pairs = sorted((encode(urllib.parse.unquote(name)), encode(urllib.parse.unquote(value)))
                   for name, _, value in (item.partition("=")
                                          for item in query.split("&") if item))
    canonical = "\n".join([
        request.command, encode(urllib.parse.unquote(path), "/"),
        "&".join(f"{name}={value}" for name, value in pairs),
        *(f"{name}:" + ",".join(" ".join(value.split())
                                for value in request.headers.get_all(name)) for name in names),
        "", signed, content])
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in (day, region, "s3", "aws4_request"):
        key = hmac_sha256(key, part)
    if not hmac.compare_digest(hmac_sha256(key, text).hex(), signature):
        raise Refused(403, "SignatureDoesNotMatch", "The request signature we calculated does "
                      "not match the signature you provided. Check your key and signing "
                      "method.", AWSAccessKeyId=identity, StringToSign=text,
                      CanonicalRequest=canonical)
    given = request.headers.get("x-amz-security-token", "")
    if options.sessions and given in sessions:
        sessions[given] += 1
        if sessions[given] > options.sessions:
            raise Refused(400, "ExpiredToken", "The provided token has expired.")
    elif options.sessions or given != token:
        raise Refused(400, "InvalidToken",
                      "The provided token is malformed or otherwise invalid.")
    if expires and now >= float(expires):
        raise Refused(400, "ExpiredToken", "The provided token has expired.")


# ---- requests --------------------------------------------------------------------------


def element(name, *inside):
    return f"<{name}>{''.join(inside)}</{name}>"


def leaf(name, value):
    return element(name, escape(str(value)))


def document(name, *inside):
    return ('<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<{name} xmlns="{NAMESPACE}">{"".join(inside)}</{name}>').encode()


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class Request(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "s3_server"
    disable_nagle_algorithm = True
    wbufsize = 64 << 10

    # -- HTTP

    def log_message(self, *_):
        pass

    def date_time_string(self, timestamp=None):
        return email.utils.formatdate(self.now() if timestamp is None else timestamp,
                                      usegmt=True)

    def now(self):
        return time.time() + self.options.clock_skew

    def handle_expect_100(self):
        return True  # when the body is read: a refusal comes before it

    def setup(self):
        self.options = self.server.options.current()
        super().setup()

    def serve(self):
        self.options = self.server.options.current()
        self.target = self.requestline.split(" ")[1]
        self.logged = False
        length = self.headers.get("Content-Length", "")
        self.left = int(length) if length.isdecimal() else 0  # of the body
        self.waiting = self.headers.get("Expect", "").lower() == "100-continue"
        try:
            self.locate()
            try:
                self.dispatch()
            except Refused as refused:
                self.refuse(refused)
        except (Cut, ConnectionError, TimeoutError):
            if not self.logged:
                self.note("-")
            self.close_connection = True

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = serve

    def locate(self):
        """The bucket, the key and the query of the request."""
        path, _, query = self.target.partition("?")
        self.query = {}
        for item in query.split("&"):
            if item:
                name, _, value = item.partition("=")
                self.query[urllib.parse.unquote(name)] = urllib.parse.unquote(value)
        host = re.sub(r":[0-9]*$", "", self.headers.get("Host", ""))
        if host.endswith("." + self.options.domain):
            self.bucket = host[:-len(self.options.domain) - 1]
            self.key = urllib.parse.unquote(path[1:])
        else:
            bucket, _, key = path[1:].partition("/")
            self.bucket, self.key = urllib.parse.unquote(bucket), urllib.parse.unquote(key)

    def note(self, status):
        query = self.target.partition("?")[2]
        method = "COPY" if "x-amz-copy-source" in self.headers else self.command
        loopback.log(self.options, method,
                     encode(f"{self.bucket}/{self.key}", "/") + (query and "?" + query),
                     encode(self.headers.get("Range", "-"), "="), str(status))

    def pieces(self):
        """The body, in pieces."""
        if self.waiting:
            self.waiting = False
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.wfile.flush()
        while self.left > 0:
            piece = self.rfile.read1(min(self.left, loopback.PIECE))
            if not piece:
                raise Cut
            self.left -= len(piece)
            yield piece

    def answer(self, status, headers=(), body=b"", size=None):
        """The header of an answer, and its body unless it is of @p size and follows."""
        if self.waiting:
            self.close_connection = True  # the body may come or not
        else:
            for _ in self.pieces():
                pass
        self.note(status)
        self.logged = True
        if self.options.delay:
            time.sleep(self.options.delay / 1000)
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", len(body) if size is None else size)
        self.send_header("x-amz-request-id", f"{time.monotonic_ns():016X}")
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_xml(self, body, headers=()):
        self.answer(200, {"Content-Type": "application/xml", **dict(headers)}, body)

    def refuse(self, refused):
        text = ('<?xml version="1.0" encoding="UTF-8"?>\n' + element(
            "Error", leaf("Code", refused.code), leaf("Message", refused.message),
            *(leaf(*item) for item in refused.more.items()),
            leaf("Resource", "/" + self.bucket + "/" + self.key),
            leaf("RequestId", "0"), leaf("HostId", "0"))).encode()
        self.answer(refused.status, {"Content-Type": "application/xml", **refused.headers},
                    b"" if refused.status == 304 else text)

    # -- which request it is

    def dispatch(self):
        if self.bucket == "_" or self.bucket == "latest":
            self.credentials()
            return
        if not self.bucket and self.command == "POST":
            self.token_service()
            return
        verify_signature(self, self.options, self.now(), self.server.sessions)
        if self.command in ("PUT", "POST") and "Content-Length" not in self.headers:
            self.close_connection = True
            raise Refused(411, "MissingContentLength",
                          "You must provide the Content-Length HTTP header.")
        name = self.command.lower()
        if not self.key:
            method = {"get": self.list_uploads if "uploads" in self.query else self.list,
                      "head": self.head_bucket, "put": self.make_bucket}.get(name)
        elif "uploadId" in self.query:
            method = {"put": self.upload_part, "post": self.complete_upload,
                      "delete": self.abort_upload, "get": self.list_parts}.get(name)
        elif "uploads" in self.query:
            method = {"post": self.begin_upload}.get(name)
        elif "x-amz-copy-source" in self.headers:
            method = {"put": self.copy}.get(name)
        else:
            method = {"get": self.get, "head": self.get, "put": self.put,
                      "delete": self.delete}.get(name)
        if method is None:
            raise Refused(405, "MethodNotAllowed",
                          "The specified method is not allowed against this resource.")
        method()

    # -- objects

    def get(self):
        file, status, about = self.server.store.open(self.bucket, self.key)
        with file:
            etag, size = f'"{about["etag"]}"', status.st_size
            if self.headers.get("If-Match", etag) not in (etag, "*"):
                raise Refused(412, "PreconditionFailed", Condition="If-Match")
            if self.headers.get("If-None-Match") in (etag, "*"):
                raise Refused(304, "NotModified")
            headers = {"Content-Type": "binary/octet-stream", **about["headers"], "ETag": etag,
                       "Accept-Ranges": "bytes",
                       "Last-Modified": self.date_time_string(status.st_mtime)}
            first, end, code = 0, size, 200
            asked = re.fullmatch(r"bytes=([0-9]*)-([0-9]*)", self.headers.get("Range", ""))
            if asked and asked.group(0) != "bytes=-" and not self.options.ignore_ranges:
                code = 206
                if not asked[1]:
                    first = size - min(int(asked[2]), size)
                else:
                    first = int(asked[1])
                    end = min(int(asked[2] or size) + 1, size)
                if first >= end:
                    raise Refused(416, "InvalidRange",
                                  "The requested range is not satisfiable",
                                  {"Content-Range": f"bytes */{size}"}, ActualObjectSize=size,
                                  RangeRequested=asked.group(0))
                headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
            self.answer(code, headers, size=end - first)
            if self.command == "GET" and end > first:
                self.wfile.flush()
                self.connection.sendfile(file, first, end - first)

    def receive(self):
        """The body in a file, as verified as the headers allow: its path and MD5."""
        content = self.headers.get("x-amz-content-sha256", "UNSIGNED-PAYLOAD")
        if not re.fullmatch("UNSIGNED-PAYLOAD|[0-9a-f]{64}", content):
            raise Refused(501, "NotImplemented", f"x-amz-content-sha256: {content}")
        sums = {"md5": hashlib.md5(), "sha256": hashlib.sha256()}
        if content == "UNSIGNED-PAYLOAD" and "x-amz-checksum-sha256" not in self.headers:
            del sums["sha256"]
        number, path = tempfile.mkstemp(dir=self.server.store.temporary)
        try:
            with open(number, "wb", buffering=0) as file:
                for piece in self.pieces():
                    for hashed in sums.values():
                        hashed.update(piece)
                    file.write(piece)
            if content not in ("UNSIGNED-PAYLOAD", "sha256" in sums and
                               sums["sha256"].hexdigest()):
                raise Refused(400, "XAmzContentSHA256Mismatch", "The provided "
                              "'x-amz-content-sha256' header does not match what was computed.",
                              ClientComputedContentSHA256=content,
                              S3ComputedContentSHA256=sums["sha256"].hexdigest())
            for header, name in (("Content-MD5", "md5"), ("x-amz-checksum-sha256", "sha256")):
                given = self.headers.get(header)
                if given and given != base64.b64encode(sums[name].digest()).decode():
                    raise Refused(400, "BadDigest", f"The {header} you specified did not match "
                                  "what we received.")
        except BaseException:
            os.unlink(path)
            raise
        return path, sums["md5"].hexdigest()

    def properties(self):
        """The headers that are kept with an object."""
        kept = ("content-type", "content-encoding", "cache-control", "x-amz-checksum-sha256")
        return {name.lower(): value for name, value in self.headers.items()
                if name.lower() in kept or name.lower().startswith("x-amz-meta-")}

    def is_new(self):
        """Whether the put asks that there be no object."""
        condition = self.headers.get("If-None-Match")
        if condition is None or self.options.ignore_conditions:
            return False
        if self.options.refuse_conditions or condition != "*":
            raise Refused(501, "NotImplemented", "A header you provided implies functionality "
                          "that is not implemented", Header="If-None-Match")
        with self.server.store.lock:
            if self.server.conflicts < self.options.conflicts:
                self.server.conflicts += 1
                raise Refused(409, "ConditionalRequestConflict", "The conditional request "
                              "cannot succeed due to a conflicting operation.")
        return True

    def put(self):
        self.server.store.bucket(self.bucket)
        new = self.is_new()
        path, etag = self.receive()
        self.commit(path, etag, self.properties(), new)
        self.answer(200, {"ETag": f'"{etag}"'})

    def commit(self, path, etag, headers, new):
        try:
            self.server.store.commit(self.bucket, self.key, path,
                                     {"etag": etag, "headers": headers}, new, self.now())
        except BaseException:
            os.unlink(path)
            raise

    def copy(self):
        source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/")
        replace = self.headers.get("x-amz-metadata-directive", "COPY").upper() == "REPLACE"
        if source == f"{self.bucket}/{self.key}" and not replace:
            raise Refused(400, "InvalidRequest", "This copy request is illegal because it is "
                          "trying to copy an object to itself without changing the object's "
                          "metadata")
        new = self.is_new()
        file, _, about = self.server.store.open(*source.partition("/")[::2])
        number, path = tempfile.mkstemp(dir=self.server.store.temporary)
        with file, open(number, "wb") as target:
            shutil.copyfileobj(file, target, loopback.PIECE)
        self.commit(path, about["etag"],
                    self.properties() if replace else about["headers"], new)
        self.answer_xml(document("CopyObjectResult", leaf("LastModified", iso(self.now())),
                                 leaf("ETag", f'"{about["etag"]}"')))

    def delete(self):
        self.server.store.remove(self.bucket, self.key)
        self.answer(204)

    # -- buckets

    def head_bucket(self):
        self.server.store.bucket(self.bucket)
        self.answer(200)

    def make_bucket(self):
        os.makedirs(os.path.join(self.server.store.data, self.bucket), exist_ok=True)
        self.answer(200, {"Location": "/" + self.bucket})

    def list(self):
        if "location" in self.query:
            self.answer_xml(document("LocationConstraint"))
            return
        second = self.query.get("list-type") == "2"
        prefix, delimiter = self.query.get("prefix", ""), self.query.get("delimiter", "")
        token = self.query.get("continuation-token" if second else "marker")
        after = self.query.get("start-after", "") if second else token or ""
        if second and token is not None:
            try:
                after = base64.urlsafe_b64decode(token.encode()).decode()
            except ValueError:
                raise Refused(400, "InvalidArgument",
                              "The continuation token provided is incorrect") from None
        limit = self.query.get("max-keys", "1000")
        if not limit.isdecimal():
            raise Refused(400, "InvalidArgument", "Provided max-keys not an integer")
        limit = min(int(limit), self.options.max_keys)
        url = self.query.get("encoding-type") == "url"

        def name(text):
            return encode(text, "/") if url else text

        entries, last, more = {}, "", False
        for key in self.server.store.keys(self.bucket, self.options.stale_list):
            if not key.startswith(prefix) or key.encode() <= after.encode():
                continue
            cut = key.find(delimiter, len(prefix)) if delimiter else -1
            entry = key if cut < 0 else key[:cut + len(delimiter)]
            if cut >= 0 and after.startswith(entry):
                continue
            if entry not in entries and len(entries) == limit:
                more = True
                break
            entries[entry], last = cut < 0, entry
        text = [leaf("Name", self.bucket), leaf("Prefix", name(prefix)),
                leaf("MaxKeys", limit), leaf("IsTruncated", str(more).lower())]
        if delimiter:
            text.append(leaf("Delimiter", name(delimiter)))
        if url:
            text.append(leaf("EncodingType", "url"))
        if second:
            text.append(leaf("KeyCount", len(entries)))
            if more:
                text.append(leaf("NextContinuationToken",
                                 base64.urlsafe_b64encode(last.encode()).decode()))
        else:
            text.append(leaf("Marker", name(after)))
            if more:
                text.append(leaf("NextMarker", name(last)))
        for entry, is_key in entries.items():
            if not is_key:
                text.append(element("CommonPrefixes", leaf("Prefix", name(entry))))
                continue
            size, when, etag = self.server.store.listed(self.bucket, entry)
            text.append(element("Contents", leaf("Key", name(entry)),
                                leaf("LastModified", iso(when)), leaf("ETag", f'"{etag}"'),
                                leaf("Size", size), leaf("StorageClass", "STANDARD")))
        self.answer_xml(document("ListBucketResult", *text))

    # -- uploads in parts: .uploads/ID has the bucket, the key, the headers, and the parts

    def upload(self):
        """The directory of an upload, and what it is of."""
        path = os.path.join(self.server.store.data, ".uploads", component(
            self.query.get("uploadId", "")))
        try:
            with open(os.path.join(path, "about"), encoding="utf-8") as text:
                about = json.load(text)
        except FileNotFoundError:
            about = {}
        if (about.get("bucket"), about.get("key")) != (self.bucket, self.key):
            raise Refused(404, "NoSuchUpload", "The specified upload does not exist.")
        return path, about

    def begin_upload(self):
        self.server.store.bucket(self.bucket)
        uploads = os.path.join(self.server.store.data, ".uploads")
        os.makedirs(uploads, exist_ok=True)
        path = tempfile.mkdtemp(dir=uploads)
        with open(os.path.join(path, "about"), "w", encoding="utf-8") as text:
            json.dump({"bucket": self.bucket, "key": self.key, "began": self.now(),
                       "headers": self.properties()}, text)
        self.answer_xml(document("InitiateMultipartUploadResult", leaf("Bucket", self.bucket),
                                 leaf("Key", self.key),
                                 leaf("UploadId", os.path.basename(path))))

    def upload_part(self):
        path, _ = self.upload()
        number = self.query.get("partNumber", "")
        if not number.isdecimal() or not 1 <= int(number) <= 10000:
            raise Refused(400, "InvalidArgument",
                          "Part number must be an integer between 1 and 10000, inclusive")
        copied = "x-amz-copy-source" in self.headers
        part, etag = self.copy_range() if copied else self.receive()
        try:
            os.rename(part, os.path.join(path, f"{int(number)}-{etag}.part"))
        except FileNotFoundError:
            raise Refused(404, "NoSuchUpload", "The specified upload does not exist.") from None
        if copied:
            self.answer_xml(document("CopyPartResult", leaf("LastModified", iso(self.now())),
                                     leaf("ETag", f'"{etag}"')))
        else:
            self.answer(200, {"ETag": f'"{etag}"'})

    def copy_range(self):
        """A range of another object in a temporary file, and its ETag."""
        source = urllib.parse.unquote(self.headers["x-amz-copy-source"]).lstrip("/")
        file, _, about = self.server.store.open(*source.partition("/")[::2])
        with file:
            if self.headers.get("x-amz-copy-source-if-match",
                                f'"{about["etag"]}"').strip('"') != about["etag"]:
                raise Refused(412, "PreconditionFailed", "At least one of the pre-conditions "
                              "you specified did not hold")
            first, last = self.headers["x-amz-copy-source-range"][len("bytes="):].split("-")
            file.seek(int(first))
            data = file.read(int(last) - int(first) + 1)
        number, path = tempfile.mkstemp(dir=self.server.store.temporary)
        with open(number, "wb") as target:
            target.write(data)
        return path, hashlib.md5(data).hexdigest()

    @staticmethod
    def parts(path):
        """{number: (ETag, file)}; the last of a number counts."""
        found = {}
        names = (entry for entry in os.scandir(path) if entry.name.endswith(".part"))
        for entry in sorted(names, key=lambda entry: entry.stat().st_mtime_ns):
            number, etag = entry.name[:-len(".part")].split("-")
            found[int(number)] = etag, entry.path
        return found

    def complete_upload(self):
        path, about = self.upload()
        new = self.is_new()
        try:
            file, _ = self.receive()
            with open(file, "rb") as text:
                asked = xml.etree.ElementTree.fromstring(text.read())
            os.unlink(file)
            wanted = [(int(part.findtext("{*}PartNumber")),
                       part.findtext("{*}ETag").strip('"')) for part in asked]
        except (xml.etree.ElementTree.ParseError, AttributeError, TypeError, ValueError):
            raise Refused(400, "MalformedXML") from None
        have = self.parts(path)
        if not wanted or any(have.get(number, ("",))[0] != etag for number, etag in wanted):
            raise Refused(400, "InvalidPart", "One or more of the specified parts could not "
                          "be found.")
        if [number for number, _ in wanted] != sorted({number for number, _ in wanted}):
            raise Refused(400, "InvalidPartOrder",
                          "The list of parts was not in ascending order.")
        files = [have[number][1] for number, _ in wanted]
        if any(os.path.getsize(file) < self.options.min_part for file in files[:-1]):
            raise Refused(400, "EntityTooSmall", "Your proposed upload is smaller than the "
                          "minimum allowed size")
        number, whole = tempfile.mkstemp(dir=self.server.store.temporary)
        with open(number, "wb") as target:
            for file in files:
                with open(file, "rb") as part:
                    shutil.copyfileobj(part, target, loopback.PIECE)
        etag = hashlib.md5(b"".join(bytes.fromhex(etag) for _, etag in wanted)).hexdigest()
        etag = f"{etag}-{len(wanted)}"
        self.commit(whole, etag, about["headers"], new)
        shutil.rmtree(path, ignore_errors=True)
        self.answer_xml(document("CompleteMultipartUploadResult", leaf("Bucket", self.bucket),
                                 leaf("Key", self.key), leaf("ETag", f'"{etag}"')))

    def abort_upload(self):
        path, _ = self.upload()
        shutil.rmtree(path, ignore_errors=True)
        self.answer(204)

    def list_parts(self):
        path, _ = self.upload()
        self.answer_xml(document(
            "ListPartsResult", leaf("Bucket", self.bucket), leaf("Key", self.key),
            leaf("UploadId", os.path.basename(path)), leaf("IsTruncated", "false"),
            *(element("Part", leaf("PartNumber", number), leaf("ETag", f'"{etag}"'),
                      leaf("Size", os.path.getsize(file)))
              for number, (etag, file) in sorted(self.parts(path).items()))))

    def list_uploads(self):
        self.server.store.bucket(self.bucket)
        found, uploads = [], os.path.join(self.server.store.data, ".uploads")
        for name in os.listdir(uploads) if os.path.isdir(uploads) else []:
            try:
                with open(os.path.join(uploads, name, "about"), encoding="utf-8") as text:
                    about = json.load(text)
            except (FileNotFoundError, ValueError):
                continue
            if (about["bucket"] == self.bucket and
                    about["key"].startswith(self.query.get("prefix", ""))):
                found.append((about["key"], name, about["began"]))
        self.answer_xml(document(
            "ListMultipartUploadsResult", leaf("Bucket", self.bucket),
            leaf("IsTruncated", "false"),
            *(element("Upload", leaf("Key", key), leaf("UploadId", name),
                      leaf("Initiated", iso(began))) for key, name, began in sorted(found))))

    # -- credentials

    def last_key(self):
        """The key that is handed out, and when it expires, as text."""
        keys = self.options.key or ["test:secret"]
        identity, secret, token, expires = (keys[-1].split(":") + ["", ""])[:4]
        if self.options.sessions:
            with self.server.store.lock:
                token = f"session-{len(self.server.sessions) + 1}"
                self.server.sessions[token] = 0
        when = time.gmtime(float(expires) if expires else self.now() + 3600)
        return identity, secret, token, time.strftime("%Y-%m-%dT%H:%M:%SZ", when)

    def credentials(self):
        if self.bucket == "latest":
            if self.target == "/latest/api/token" and self.command == "PUT":
                self.answer(200, body=b"session")
                return
            if self.headers.get("x-aws-ec2-metadata-token") != "session":
                raise Refused(401, "Unauthorized")
            if self.target == "/latest/meta-data/iam/security-credentials/":
                self.answer(200, body=b"role")
                return
            if self.target != "/latest/meta-data/iam/security-credentials/role":
                raise Refused(404, "NotFound")
        elif self.headers.get("Authorization", "") != self.options.container_token:
            raise Refused(403, "AccessDenied")
        identity, secret, token, expires = self.last_key()
        self.answer(200, {"Content-Type": "application/json"}, json.dumps(
            {"Code": "Success", "AccessKeyId": identity, "SecretAccessKey": secret,
             "Token": token, "Expiration": expires}).encode())

    def token_service(self):
        asked = urllib.parse.parse_qs(b"".join(self.pieces()).decode())
        if (asked.get("Action") != ["AssumeRoleWithWebIdentity"] or
                not asked.get("WebIdentityToken") or not asked.get("RoleArn")):
            raise Refused(400, "InvalidAction")
        identity, secret, token, expires = self.last_key()
        name = "AssumeRoleWithWebIdentity"
        self.answer_xml(document(name + "Response", element(name + "Result", element(
            "Credentials", leaf("AccessKeyId", identity), leaf("SecretAccessKey", secret),
            leaf("SessionToken", token), leaf("Expiration", expires)))))


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, options, store):
        self.options, self.store, self.conflicts = options, store, 0
        self.sessions = {}  # token: requests that it was used for
        super().__init__(("127.0.0.1", options.now.port), Request)

    def handle_error(self, *_):
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(*_)


def main():
    opts = loopback.Options(options())
    for bucket in opts.now.bucket or ["bucket"]:
        os.makedirs(os.path.join(opts.now.data, bucket), exist_ok=True)
    server = Server(opts, Store(opts.now.data))
    if opts.now.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(opts.now.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    loopback.serve(server.server_address[1], opts.now, server.serve_forever)


if __name__ == "__main__":
    main()
