/* SPDX-License-Identifier: BSD-2-Clause */
#include "serving.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "need.h"

bool
serving_possible(void)
{
	return system("python3 -c '' 2>/dev/null") == 0;
}

void
serving_environment(int port)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
		"AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_CA_BUNDLE", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_STS",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN",
		"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
		"AWS_EC2_METADATA_SERVICE_ENDPOINT", "http_proxy", "https_proxy",
		"all_proxy", "HTTPS_PROXY", "ALL_PROXY" };
	char url[60];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
	setenv("AWS_ENDPOINT_URL", url, 1);
	setenv("AWS_ACCESS_KEY_ID", "test", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
	setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null", 1);
	setenv("AWS_CONFIG_FILE", "/dev/null", 1);
}

void
serving_does(const struct serving *serving, const char *options)
{
	char made[sizeof(serving->control) + 4];
	FILE *file;

	snprintf(made, sizeof(made), "%s.new", serving->control);
	file = fopen(made, "w");
	need(file != NULL);
	fprintf(file, "%s\n", options);
	need(fclose(file) == 0);
	need(rename(made, serving->control) == 0);
}

/* The number in a file that another process writes. */
static int
wait_for_port(const char *path)
{
	const struct timespec pause = { 0, 20000000 };
	int port = 0;

	for (int i = 0; i < 1500 && port == 0; i++) {
		FILE *file = fopen(path, "r");

		if (file != NULL && fscanf(file, "%d", &port) != 1)
			port = 0;
		if (file != NULL)
			fclose(file);
		if (port == 0)
			nanosleep(&pause, NULL);
	}
	need(port > 0);
	return port;
}

/* Start PROGRAM of t/support with --NAME VALUE. */
static void
launch(struct serving *out, const char *dir, const char *program, const char *name,
    const char *value)
{
	const char *srcdir = getenv("srcdir");
	char path[4200], ready[4200];

	snprintf(path, sizeof(path), "%s/t/support/%s", srcdir != NULL ? srcdir : ".",
	    program);
	snprintf(out->control, sizeof(out->control), "%s/%s.options", dir, program);
	snprintf(ready, sizeof(ready), "%s/%s.port", dir, program);
	serving_does(out, "");
	(void)unlink(ready);
	switch (fork()) {
	case -1: need(false); break;
	case 0:
		/* Whatever is on its standard output is not TAP. */
		need(dup2(open("/dev/null", O_RDWR), STDOUT_FILENO) == STDOUT_FILENO);
		execlp("python3", "python3", path, "--control", out->control, "--ready",
		    ready, name, value, (char *)NULL);
		_exit(127);
	}
	out->port = wait_for_port(ready);
}

void
serving_s3(struct serving *out, const char *dir)
{
	char data[4200];

	snprintf(data, sizeof(data), "%s/s3", dir);
	launch(out, dir, "s3_server.py", "--data", data);
}

void
serving_faults(struct serving *out, const char *dir, const struct serving *server)
{
	char port[12];

	snprintf(port, sizeof(port), "%d", server->port);
	launch(out, dir, "fault_proxy.py", "--to", port);
}
