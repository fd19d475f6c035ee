/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the corpora that the fuzz targets start from, with the project's own writers:
 *
 *     fuzz/seeds fuzz/corpus
 *
 * The same program makes the same files. What fuzzing found is in the corpora beside them,
 * under other names.
 */
#include <fcntl.h>
#include <lmdb.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "made_image.h"
#include "made_tiff.h"
#include "made_tar.h"
#include "run.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mpack.h"
#include "fill/stash.h"
#include "format/manifest.h"
#include "format/npy.h"
#include "formats/npz.h"
#include "formats/safetensors.h"
#include "format/twh1.h"
#include "fuzz.h"
#include "module.h"
#include "store/record.h"
#include "value/schema.h"
#include "value/value_record.h"

static const char *corpus;

static void
must(lc_status status)
{
	if (status != LC_OK) {
		fprintf(stderr, "seeds: %s\n", lc_last_error()->text);
		exit(1);
	}
}

/* Write CORPUS/TARGET/seed-NAME: what stands in @p head, then the bytes. */
static void
save(const char *target, const char *name, const void *head, size_t head_size,
    const void *bytes, size_t size)
{
	struct lc__buf all = { 0 };
	char path[1000];

	snprintf(path, sizeof(path), "%s/%s", corpus, target);
	must(lc__make_dirs(path));
	snprintf(path, sizeof(path), "%s/%s/seed-%s", corpus, target, name);
	lc__buf_append(&all, head, head_size);
	lc__buf_append(&all, bytes, size);
	if (all.failed)
		abort();
	must(lc__write_file_atomic(path, all.data, all.size));
	lc__buf_free(&all);
}

static void
save_text(const char *target, const char *name, const char *text)
{
	save(target, name, NULL, 0, text, strlen(text));
}

/* With a choice before it. */
static void
save_chosen(const char *target, const char *name, unsigned char choice, const char *text)
{
	save(target, name, &choice, 1, text, strlen(text));
}

/* ---- formats ------------------------------------------------------------------- */

static lc_tensor
tensor_of(lc_dtype dtype, uint32_t ndim, const uint64_t *shape)
{
	static unsigned char data[4096];
	lc_tensor tensor;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i % 7);
	must(lc_tensor_init(&tensor, dtype, ndim, shape, data));
	return tensor;
}

static void
make_npy(void)
{
	static const lc_dtype dtypes[] = { LC_F32, LC_U8, LC_BOOL, LC_BF16, LC_I64 };
	static const uint64_t shape[] = { 2, 3, 1 };

	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		const lc_tensor tensor = tensor_of(dtypes[i], (uint32_t)i % 4, shape);
		const unsigned char any = dtypes[i] == LC_BF16 ? LC_BF16 : 0;
		struct lc__buf file = { 0 };
		char name[20];

		must(lc__npy_encode_header(&tensor, true, &file));
		lc__buf_append(&file, tensor.data, tensor.nbytes);
		snprintf(name, sizeof(name), "%s", lc_dtype_name(dtypes[i]));
		save("npy", name, &any, 1, file.data, file.size);
		lc__buf_free(&file);
	}
	save("npy", "old", "\0", 1, "\x93NUMPY\1\0\x46\0{'descr': '>f4', "
	    "'fortran_order': True, 'shape': (2L, 3L), }            \n"
	    "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6", 80 + 24);
}

static lc_value *
make_value(void)
{
	static const uint64_t shape[] = { 2, 3 };
	const lc_tensor tensor = tensor_of(LC_F32, 2, shape);
	lc_value *map = lc_value_map(), *parts;

	lc_value_set(map, "a", lc_value_tensor(&tensor));
	parts = lc_value_set(map, "b", lc_value_list());
	lc_value_append(parts, lc_value_tensor(&tensor));
	lc_value_append(parts, lc_value_tensor(&tensor));
	must(lc_value_check(map));
	return map;
}

static void
make_npz(void)
{
	lc_value *value = make_value();
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);

	if (out == NULL)
		abort();
	must(lc__npz_write(out, value, true));
	fclose(out);
	save("npz", "stored", "\0", 1, bytes, size);
	save("incoming", "npz", "\2", 1, bytes, size);
	save("tar", "zip", "\0", 1, bytes, size);
	free(bytes);
	lc_value_free(value);
}

static void
make_safetensors(void)
{
	static const uint64_t shape[] = { 2, 3 };
	static const char *const names[] = { "a.weight", "b", "\xc3\xa4" };
	static const lc_dtype dtypes[] = { LC_F32, LC_BF16, LC_U8 };
	struct lc__safetensors table = { 0 };
	struct lc__buf file = { 0 };

	for (size_t i = 0; i < 3; i++) {
		const lc_tensor tensor = tensor_of(dtypes[i], (uint32_t)i, shape);

		must(lc__safetensors_add(&table, lc_id_of(names[i]), &tensor));
	}
	must(lc__safetensors_encode(&table, &file));
	memset(lc__buf_append(&file, NULL, table.data_size), 1, table.data_size);
	save("safetensors", "three", NULL, 0, file.data, file.size);
	save("incoming", "safetensors", "\1", 1, file.data, file.size);
	lc__safetensors_free(&table);
	lc__buf_free(&file);
	save("safetensors", "metadata", "\x6e\0\0\0\0\0\0\0", 8, "{\"__metadata__\":"
	    "{\"format\":\"pt\"},\"x\":{\"dtype\":\"F16\",\"shape\":[1,2],\"data_offsets\""
	    ":[0,4],\"more\":[null]}}                     \1\2\3\4", 110 + 4);
}

/* Export a module and keep its shard and its manifest. */
static void
make_shards(void)
{
	char dir[300], path[400];
	static const uint64_t shape[] = { 3, 2, 2 };
	const lc_tensor tensor = tensor_of(LC_F16, 3, shape);
	struct lc__buf file = { 0 };
	lc_export_options options;
	lc_export_result result;
	lc_cache *cache;

	must(lc_open(fuzz_dir(), "shards", NULL, &cache));
	for (unsigned i = 0; i < 3; i++)
		must(lc_put(cache, fuzz_ids[i], strlen(fuzz_ids[i]), &tensor));
	snprintf(dir, sizeof(dir), "%s/export", fuzz_dir());
	lc_export_options_init(&options);
	must(lc_export(cache, dir, &options, &result));
	must(lc_close(cache));
	snprintf(path, sizeof(path), "%s/shard-000000.twh1", dir);
	must(lc__read_file(path, 1 << 20, &file));
	save("twh1", "v2", "\0", 1, file.data, file.size);
	file.size = 0;
	snprintf(path, sizeof(path), "%s/manifest.json", dir);
	must(lc__read_file(path, 1 << 20, &file));
	save("manifest", "export", NULL, 0, file.data, file.size);
	lc__buf_free(&file);
}

static void
make_manifests(void)
{
	save_text("manifest", "warehouse", "{\"dataset_root\":\"/d\","
	    "\"transform\":{\"size\":[64,64]},\"version\":\"\",\"version_recipe\":\"r\","
	    "\"code_version\":\"0.1\",\"default_dtype\":\"F32\",\"default_shard_version\":2,"
	    "\"created_at_ms\":1,\"thresholds\":{\"max_invalid\":5,\"max_missing_ratio\":0.1,"
	    "\"mode\":\"warn\"},\"summary\":{\"totals\":{\"total\":3,\"non_empty\":1,\"empty\":1,"
	    "\"missing_image\":0,\"missing_file\":0,\"invalid\":1},\"runs\":[{\"run_id\":\"r\","
	    "\"total\":3,\"non_empty\":1,\"empty\":1,\"invalid\":1}],\"written\":2,\"boxes\":4,"
	    "\"reasons\":{\"bad_box\":1}},\"shards\":[{\"id\":\"shard-000000\","
	    "\"relative_path\":\"shard-000000.twh1\",\"shard_version\":2,\"samples\":2,"
	    "\"width\":64,\"height\":64,\"channels\":3,\"max_boxes\":4,\"dtype\":\"F32\","
	    "\"endianness\":\"Little\",\"checksum_sha256\":null}]}");
}

static void
make_manifest_of_parts(void)
{
	struct lc__manifest_part parts[] = {
		{ .relative_path = (char *)"../part/00/a.json", .base = (char *)"..",
		    .samples = 3089, .bytes = 9999, .shards = 4,
		    .counts = (char *)"1024x3 17" },
		{ .relative_path = (char *)"b/manifest.json", .base = (char *)"",
		    .counts = (char *)"" },
	};
	const struct lc__manifest manifest = {
		.default_dtype = LC_F32,
		.default_shard_version = 2,
		.manifest_version = LC__MANIFEST_OF_PARTS,
		.layout = { 8, 1, 3, 2, LC_F32, LC_BF16 },
		.n_parts = 2,
		.parts = parts,
	};
	struct lc__buf text = { 0 };

	memset(parts[0].sha256, 'a', 64);
	memset(parts[1].sha256, '7', 64);
	must(lc__manifest_format(&manifest, &text));
	save("manifest", "parts", NULL, 0, text.data, text.size);
	lc__buf_free(&text);
}

/* ---- images and archives -------------------------------------------------------- */

static void
make_images(struct lc__buf *png)
{
	unsigned char exif[38], choice = 0x18;
	struct lc__buf file = { 0 };
	char name[30];

	for (int i = 0; i < PNG_ROWS; i += 3) {
		file.size = 0;
		make_png(&png_rows[i], 5, 4, &file);
		snprintf(name, sizeof(name), "png%d", i);
		choice = (unsigned char)(i * 11 | 8);
		save("image", name, &choice, 1, file.data, file.size);
		if (i == 0)
			lc__buf_append(png, file.data, file.size);
	}
	for (int i = 0; i < JPEG_ROWS; i++) {
		const size_t n = make_exif(exif, i % 2 == 0, (unsigned)(i % 8 + 1));

		file.size = 0;
		make_jpeg(&jpeg_rows[i], 9, 7, i % 3 == 0 ? NULL : exif, i % 3 == 0 ? 0 : n,
		    &file);
		snprintf(name, sizeof(name), "jpeg%d", i);
		choice = (unsigned char)(i * 13 | 8);
		save("image", name, &choice, 1, file.data, file.size);
	}
	for (int i = 0; i < TIFF_ROWS; i++) {
		file.size = 0;
		if (!make_tiff(&tiff_rows[i], 17, 5, (unsigned)(i % 8 + 1), 1 + i % 7 / 6, &file))
			break;
		snprintf(name, sizeof(name), "tiff%d", i);
		choice = (unsigned char)(i * 11 | 8);
		save("image", name, &choice, 1, file.data, file.size);
	}
	for (int i = 0; i < 4; i++) {
		const size_t n = make_exif(exif, i % 2 == 0, (unsigned)(i % 8 + 1));

		file.size = 0;
		if (i == 0 ? !make_webp_lossy(17, 5, &file) :
		    !make_webp(17, 5, i == 2 ? 4 : 3, i == 1 ? NULL : exif, n, &file))
			break;
		snprintf(name, sizeof(name), "webp%d", i);
		choice = (unsigned char)(i * 13 | 8);
		save("image", name, &choice, 1, file.data, file.size);
	}
	file.size = 0;
	if (make_tiff_jpeg(false, 17, 5, &file))
		save("image", "tiffjpeg", &choice, 1, file.data, file.size);
	lc__buf_free(&file);
}

static void
make_archives(const struct lc__buf *png)
{
	static const char json[] = "{\"a\":[1,2.5,null,\"x\"]}";
	struct made_tar tar = { { 0 } };
	struct lc__buf npy = { 0 };
	const uint64_t shape[] = { 3 };
	const lc_tensor tensor = tensor_of(LC_F32, 1, shape);

	must(lc__npy_encode_header(&tensor, false, &npy));
	lc__buf_append(&npy, tensor.data, tensor.nbytes);
	made_tar_add(&tar, "d/0001.png", png->data, png->size);
	made_tar_add(&tar, "d/0001.json", json, strlen(json));
	made_tar_add(&tar, "d/0001.cls", "7", 1);
	made_tar_add_type(&tar, "pax", 'x', "20 path=d/0002.npy\n\n", 20);
	made_tar_add(&tar, "short", npy.data, npy.size);
	made_tar_add(&tar, "d/0002.a.b.txt", "text", 4);
	made_tar_add_type(&tar, "d", '5', "", 0);
	made_tar_end(&tar);
	save("tar", "wds", "\1", 1, tar.bytes.data, tar.bytes.size);
	save("incoming", "wds", "\0", 1, tar.bytes.data, tar.bytes.size);
	save("incoming", "wds-raw", "\xc0", 1, tar.bytes.data, tar.bytes.size);
	lc__buf_free(&tar.bytes);
	lc__buf_free(&npy);
}

static void
make_mds(void)
{
	static const char index[] = "{\"version\":2,\"shards\":[{\"column_encodings\":[\"str\","
	    "\"ndarray:float32:2\",\"int\"],\"column_names\":[\"id\",\"x\",\"y\"],"
	    "\"column_sizes\":[null,8,8],\"compression\":null,\"format\":\"mds\",\"hashes\":[],"
	    "\"raw_data\":{\"basename\":\"shard.00000.mds\",\"bytes\":52,\"hashes\":{}},"
	    "\"samples\":2,\"size_limit\":67108864,\"version\":2,\"zip_data\":null}]}";
	static const unsigned char shard[] = { 2, 0, 0, 0, 16, 0, 0, 0, 37, 0, 0, 0, 58, 0, 0, 0,
		1, 0, 0, 0, 'a', 0, 0, 128, 63, 0, 0, 0, 64, 7, 0, 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 'b', 0, 0, 128, 63, 0, 0, 0, 64, 8, 0, 0, 0, 0, 0, 0, 0 };
	static const char *const columns[] = { "str\0text", "ndarray\0\3\1\2\1\0\2\3\4",
		"json\0[1,{\"a\":null}]", "str_int\0-12345678901234567890", "float32\0\0\0\x80?",
		"pil\0\2\0\0\0\1\0\0\0\3\0\0\0RGB\1\2\3\4\5\6" };
	static const size_t sizes[] = { 8, 16, 20, 28, 12, 25 };
	unsigned char head[3] = { 0 };
	struct lc__buf all = { 0 };
	char name[20];

	lc__set16(head + 1, sizeof(index) - 1);
	lc__buf_append(&all, index, sizeof(index) - 1);
	lc__buf_append(&all, shard, sizeof(shard));
	/* The index says the shard's size: make it true. */
	memcpy(strstr((char *)all.data, "\"bytes\":52"), "\"bytes\":58", 10);
	save("mds", "index", head, 3, all.data, all.size);
	head[0] = 0x20;
	save("mds", "index-id", head, 3, all.data, all.size);
	lc__buf_free(&all);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		snprintf(name, sizeof(name), "column%zu", i);
		save("mds", name, "\1", 1, columns[i], sizes[i]);
	}
}

/* ---- text ------------------------------------------------------------------------ */

static void
make_texts(void)
{
	save_chosen("labels", "capture", 0, "{\"frame_id\":12,\"image\":\"../images/f.jpg\","
	    "\"image_present\":true,\"labels\":[{\"bbox_norm\":[0.1,0.2,0.5,1e0],\"bbox_px\":"
	    "[64,96,320,480],\"class_id\":3,\"x\":{\"a\":[1,-2.5,null,\"\\u00e4\\n\"]}},"
	    "{\"bbox_px\":[-0.4,0,9,9]}],\"time\":18446744073709551615,\"tags\":[[[[]]]],"
	    "\"\xc3\xa4\":\"\xc3\xa4\"}\n");
	save_chosen("labels", "yolo", 1, "0 0.5 0.5 1 0.5\n1\t0.25 .75 5e-1 0.5\r\n\n"
	    "2 0.1 0.2 0.5 0.9 0.3 0.1 0 1\n");
	save_chosen("labels", "voc", 2, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- c -->"
	    "<annotation a=\"b\"><folder>f</folder><filename>f.jpg</filename><size><width>640"
	    "</width><height>480</height><depth>3</depth></size><object><name>a &amp; b</name>"
	    "<difficult>0</difficult><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>640</xmax>"
	    "<ymax>48.5</ymax></bndbox><part><name>p</name></part></object><x><![CDATA[<]]></x>"
	    "<x>2</x></annotation>");
	save_text("coco", "small", "{\"info\":{\"a\":[1,\"\\\"]\"]},\"images\":[{\"id\":5,"
	    "\"file_name\":\"a.jpg\",\"width\":640,\"height\":480},{\"id\":-1,\"file_name\":"
	    "\"d/b.jpg\"}],\"annotations\":[{\"id\":1,\"image_id\":5,\"category_id\":2,\"bbox\":"
	    "[1,2.5,3,4],\"segmentation\":[[1,2,3,4,5,6]],\"iscrowd\":0,\"score\":1e-3},{\"id\":2,"
	    "\"image_id\":-1,\"bbox\":[0,0,640,480],\"iscrowd\":1}],\"categories\":[{\"id\":2,"
	    "\"name\":\"c\"}]}");
	save_text("yaml", "list", "train: a\nnames: ['a', \"b\\u00e4\", c d]\nnc: 3\n");
	save_text("yaml", "map", "names:\n  0: person\n  2: 'it''s' # a comment\n  1: \"x\\n\"\n");
	save_text("yaml", "block", "# c\nnames:\n- a\n- b: c\n- |\n  text\n");
	save_text("json", "record", "{\"image_path\": \"a/b.jpg\", \"width\": 640, \"height\": 480,"
	    "\"dinov3\": [[1, 2.5e-3, -0.0], [NaN, Infinity, 1e40]], \"caption\": \"a \\ud83d"
	    "\\ude00\", \"t\": [true, false, null]}");
	save_text("json", "v2", "{\"image_path\":\"\\u00e4.jpg\",\"image_id\":\"x\",\"height\":1,"
	    "\"width\":2,\"aspect_bucket\":\"512x512\",\"format_version\":2}");
	save_text("value_json", "tensor", "{\"id\":\"a\",\"dtype\":\"f32\",\"shape\":[2],"
	    "\"data\":\"AACAPwAAAEA=\"}");
	save_text("value_json", "record", "{\"format\":2,\"id\":\"a\",\"value\":{\"x\":"
	    "{\"$tensor\":\"u8[3]\",\"data\":\"AQID\"},\"n\":[1,-2.5,null,true]}}");
	save_text("value_json", "all", "{\"a\":{\"$tuple\":[1,{\"$bytes\":\"AQI=\"}]},\"b\":"
	    "{\"$u64\":\"18446744073709551615\"},\"c\":{\"$float\":\"nan:7ff0000000000001\"},"
	    "\"d\":{\"$map\":[[\"$x\",{\"$str\":\"/w==\"}]]},\"e\":{\"$tensor\":\"bf16[1,2]\"}}");
	save_text("value_json", "kinds", "{\"a\":{\"$tagged\":[\"py.int\",{\"$bytes\":\"AQI=\"}]},"
	    "\"b\":{\"$pairs\":[[1,2],[{\"$tuple\":[null]},{\"$tensor\":\"u8[1]\"}]]}}");
}

/* ---- producers ------------------------------------------------------------------- */

static void
put_tensor(struct lc__buf *out)
{
	lc__mpack_map(out, 2);
	lc__mpack_str(out, "$tensor");
	lc__mpack_str(out, "f32[2]");
	lc__mpack_str(out, "data");
	lc__mpack_bin(out, "\0\0\x80?\0\0\0@", 8);
}

static void
make_answers(void)
{
	struct lc__buf out = { 0 };

	lc__mpack_map(&out, 2);
	lc__mpack_str(&out, "batch");
	lc__mpack_uint(&out, 7);
	lc__mpack_str(&out, "results");
	lc__mpack_array(&out, 3);
	lc__mpack_map(&out, 2);
	lc__mpack_str(&out, "id");
	lc__mpack_str(&out, "a");
	lc__mpack_str(&out, "value");
	put_tensor(&out);
	lc__mpack_map(&out, 2);
	lc__mpack_str(&out, "id");
	lc__mpack_bin(&out, "img/1.jpg", 9);
	lc__mpack_str(&out, "value");
	lc__mpack_map(&out, 2);
	lc__mpack_str(&out, "x");
	put_tensor(&out);
	lc__mpack_str(&out, "n");
	lc__mpack_array(&out, 2);
	lc__mpack_float(&out, 0.5);
	lc__mpack_nil(&out);
	lc__mpack_map(&out, 2);
	lc__mpack_str(&out, "id");
	lc__mpack_str(&out, "b");
	lc__mpack_str(&out, "error");
	lc__mpack_str(&out, "no such file");
	save("answer", "three", NULL, 0, out.data, out.size);
	out.size = 0;
	put_tensor(&out);
	save("answer", "tensor", NULL, 0, out.data, out.size);
	lc__buf_free(&out);
}

/* ---- modules --------------------------------------------------------------------- */

/* A row of a table of a module: up to @p most of each kind are kept. */
static void
save_row(enum fuzz_module kind, const char *table, unsigned n, const MDB_val *key,
    const MDB_val *row)
{
	static const char *const small[] = { "state", "", "module", "", "fill" };
	const size_t plain = row->mv_size - 8;
	char name[60];

	snprintf(name, sizeof(name), "%d-%s-%u", (int)kind, table, n);
	if (strcmp(table, "chunk") == 0 && n < 2) {
		save("chunk", name, NULL, 0, row->mv_data, row->mv_size);
	} else if (strcmp(table, "index") == 0 && n < 2) {
		unsigned char head[2];

		lc__set16(head, (uint16_t)row->mv_size);
		save("run", name, head, 2, row->mv_data, row->mv_size);
	} else if (strcmp(table, "ledger") == 0 && n < 1) {
		save("rows", name, "\1", 1, row->mv_data, plain);
	} else if (strcmp(table, "order") == 0 && n < 2) {
		save("rows", name, "\3", 1, row->mv_data, plain);
	} else if (strcmp(table, "input") == 0 && n < 3) {
		save("rows", name, "\5", 1, row->mv_data, plain);
	}
	for (unsigned char i = 0; strcmp(table, "meta") == 0 && i < 5; i++)
		if (key->mv_size == strlen(small[i]) && memcmp(key->mv_data, small[i],
		    key->mv_size) == 0)
			save("rows", name, &i, 1, row->mv_data, plain);
}

/* The first records of each structure, behind it. */
static void
save_records(enum fuzz_module kind, const MDB_val *schema, const MDB_val *chunk)
{
	const unsigned char *p = chunk->mv_data;
	uint64_t at = 48;
	struct lc__record record;
	unsigned n = 0;

	while (n < 6 && lc__record_parse(p + at, chunk->mv_size - at, &record)) {
		struct lc__buf out = { 0 };
		unsigned char head[2];
		char name[30];

		lc__set16(head, (uint16_t)(schema->mv_size - 8));
		lc__buf_append(&out, schema->mv_data, schema->mv_size - 8);
		lc__buf_append(&out, p + at, record.size);
		snprintf(name, sizeof(name), "%d-%u", (int)kind, n++);
		save("record", name, head, 2, out.data, out.size);
		out.size = schema->mv_size - 8;
		lc__buf_append(&out, record.plain, record.plain_size);
		save("schema", name, head, 2, out.data, out.size);
		lc__buf_free(&out);
		at += record.size;
	}
}

static void
check_mdb(int rc)
{
	if (rc != 0) {
		fprintf(stderr, "seeds: %s\n", mdb_strerror(rc));
		exit(1);
	}
}

static void
make_modules(void)
{
	static const char *const tables[] = { "meta", "schema", "chunk", "index", "ledger",
		"input", "order" };

	for (int kind = 0; kind < FUZZ_MODULES; kind++) {
		MDB_val key, row, schema = { 0, NULL };
		char path[300];
		MDB_env *env;
		MDB_txn *txn;

		snprintf(path, sizeof(path), "%s/m%d", fuzz_dir(), kind);
		fuzz_module_make((enum fuzz_module)kind, fuzz_dir(), strrchr(path, '/') + 1);
		check_mdb(mdb_env_create(&env));
		check_mdb(mdb_env_set_maxdbs(env, 20));
		check_mdb(mdb_env_open(env, path, MDB_RDONLY | MDB_NOTLS, 0600));
		check_mdb(mdb_txn_begin(env, NULL, MDB_RDONLY, &txn));
		for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++) {
			MDB_cursor *cursor;
			MDB_dbi dbi;
			unsigned n = 0;

			check_mdb(mdb_dbi_open(txn, tables[t], 0, &dbi));
			check_mdb(mdb_cursor_open(txn, dbi, &cursor));
			while (mdb_cursor_get(cursor, &key, &row, MDB_NEXT) == 0) {
				save_row((enum fuzz_module)kind, tables[t], n, &key, &row);
				if (t == 1 && n == 0)
					schema = row;
				if (t == 2 && n == 0)
					save_records((enum fuzz_module)kind, &schema, &row);
				n++;
			}
			mdb_cursor_close(cursor);
		}
		mdb_txn_abort(txn);
		mdb_env_close(env);
	}
}

/* The target puts its checksum right. */
static void
make_token(void)
{
	static const unsigned char bytes[LC_TOKEN_SIZE] = { 'L', 'C', 'T', 'O', 'K', 'E', 'N', 1,
		[24] = 4, [48] = 5, [56] = 1, [64] = 100, [72] = 1 };

	save("token", "one", NULL, 0, bytes, sizeof(bytes));
}

static void
make_codecs(void)
{
	static const lc_codec codecs[] = { LC_CODEC_LZ4, LC_CODEC_SHUFFLE_LZ4, LC_CODEC_U8PACK,
		LC_CODEC_U8PACK_LZ4 };
	static const uint64_t shape[] = { 600 };
	const lc_tensor tensor = tensor_of(LC_F32, 1, shape);

	for (size_t i = 0; i < 4; i++) {
		unsigned char head[6] = { (unsigned char)codecs[i], LC_F32 };
		struct lc__buf out = { 0 };
		struct lc__record_part part = { 0 };
		char name[20];

		must(lc__part_code(&part, codecs[i], 1, &tensor, &out));
		lc__set32(head + 2, (uint32_t)tensor.nbytes);
		snprintf(name, sizeof(name), "%s", lc_codec_name(codecs[i]));
		save("codec", name, head, 6, out.data, out.size);
		head[0] |= 0x80;
		snprintf(name, sizeof(name), "%s-in", lc_codec_name(codecs[i]));
		save("codec", name, head, 6, tensor.data, tensor.nbytes);
		lc__buf_free(&out);
	}
}

static void
make_stash(void)
{
	struct lc__items *batch = lc__items_new(2);
	struct lc__line_place behind[2] = { { 1100, 11 }, { 1200, 12 } };
	struct lc__buf frame = { 0 }, file = { 0 };
	struct lc__stash *stash;
	char path[300];

	if (batch == NULL)
		abort();
	for (int i = 0; i < 2; i++) {
		struct lc__item *item = &batch->items[i];

		item->id = lc_id_of(i == 0 ? "s:10" : "s:11");
		item->payload = lc_id_of(i == 0 ? "text of 10" : "text of 11");
		item->key = "text";
		item->tag = (uint64_t)i;
	}
	lc__mpack_map(&frame, 2);
	lc__mpack_str(&frame, "batch");
	lc__mpack_uint(&frame, 1);
	lc__mpack_str(&frame, "results");
	lc__mpack_array(&frame, 2);
	for (int i = 0; i < 2; i++) {
		lc__mpack_map(&frame, 2);
		lc__mpack_str(&frame, "id");
		lc__mpack_strn(&frame, batch->items[i].id.data, batch->items[i].id.size);
		lc__mpack_str(&frame, "value");
		put_tensor(&frame);
	}
	must(lc__items_keep(batch, &frame));
	for (int i = 0; i < 2; i++)
		batch->items[i].outcome = LC__ITEM_DONE;
	snprintf(path, sizeof(path), "%s/fill.0.part", fuzz_dir());
	must(lc__stash_open(path, 0x1122334455667788, 10, &stash));
	must(lc__stash_add(stash, batch, behind, 0));
	must(lc__read_file(path, 1 << 20, &file));
	save("stash", "two", NULL, 0, file.data, file.size);
	lc__stash_close(stash);
	lc__items_free(batch);
	lc__buf_free(&file);
}

/* Inputs of image.h: each module and environment with each set of options, whole and with
 * an edit. */
static void
make_images_of_modules(void)
{
	static const char edit[] = "\4\2\0\20\0\1";
	char name[20];

	for (int i = 0; i < 4 * FUZZ_MODULES; i++) {
		const unsigned char head[2] = { (unsigned char)(i % FUZZ_MODULES),
			(unsigned char)(i / FUZZ_MODULES * 2 + i * 16) };

		snprintf(name, sizeof(name), "%d", i);
		save("data", name, head, 2, edit, i % 3 == 0 ? 6 : 0);
		save("recover", name, head, 2, edit, i % 3 == 0 ? 6 : 0);
		save("pages", name, head, 2, edit, i % 3 == 0 ? 6 : 0);
		save("salvage", name, head, 2, edit, i % 3 == 0 ? 6 : 0);
	}
	for (int i = 0; i < 2 * FUZZ_ENVS; i++) {
		const unsigned char head[2] = { (unsigned char)(i % FUZZ_ENVS),
			(unsigned char)(i / FUZZ_ENVS * 2) };

		snprintf(name, sizeof(name), "%d", i);
		save("foreign", name, head, 2, edit, i % 3 == 0 ? 6 : 0);
	}
}

/* In a test: what makes images and archives fails as tests do. */
START_TEST(make_all)
{
	struct lc__buf png = { 0 };

	make_npy();
	make_npz();
	make_safetensors();
	make_shards();
	make_manifests();
	make_manifest_of_parts();
	make_images(&png);
	make_archives(&png);
	make_mds();
	make_texts();
	make_answers();
	make_modules();
	make_images_of_modules();
	make_token();
	make_codecs();
	make_stash();
	lc__buf_free(&png);
}
END_TEST

int
main(int argc, char **argv)
{
	Suite *suite = suite_create("seeds");
	TCase *tc = tcase_create("seeds");

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIRECTORY\n");
		return 2;
	}
	corpus = argv[1];
	if (setenv("SOURCE_DATE_EPOCH", "1700000000", 1) != 0)
		return 1;
	tcase_add_test(tc, make_all);
	suite_add_tcase(suite, tc);
	return run_suite(suite);
}
