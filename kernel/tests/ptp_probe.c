// SPDX-License-Identifier: GPL-2.0-only
/*
 * PTP hardware clocks and sockets with txtimes as a program sees them, one number or word a line
 * for shell and pytest:
 *
 *	ptp_probe compare A B COUNT PAUSE_US	COUNT times "raw_ns offset_ns": /dev/ptpB less /dev/ptpA at one instant
 *	ptp_probe extended A COUNT		PTP_SYS_OFFSET_EXTENDED: what holds of COUNT samples
 *	ptp_probe precise A			PTP_SYS_OFFSET_PRECISE, PTP_ENABLE_PPS: "accepted", or the reason why not
 *	ptp_probe pps A
 *	ptp_probe txtime DEVICE CLOCK ADVANCE_NS COUNT	frames with a txtime of that clockid: what the error queue says
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/ptp_clock.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what)
{
	fprintf(stderr, "ptp_probe: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int open_phc(const char *number)
{
	char path[64];
	int phc;

	snprintf(path, sizeof(path), "/dev/ptp%s", number);
	phc = open(path, O_RDWR);
	if (phc < 0)
		fail(path);
	return phc;
}

static int64_t ns_of(const struct ptp_clock_time *t)
{
	return t->sec * 1000000000ll + t->nsec;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	if (clock_gettime(clock, &now))
		fail("clock_gettime");
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* struct reading - system clock around the PHC and the PHC, ns */
struct reading {
	int64_t before;
	int64_t phc;
	int64_t after;
};

/* Of a few the shortest: an interrupt may come between the clocks. */
static struct reading read_phc(int phc)
{
	struct ptp_sys_offset_extended request = { .n_samples = 3 };
	struct reading best = { 0, 0, INT64_MAX };
	unsigned int n;

	if (ioctl(phc, PTP_SYS_OFFSET_EXTENDED, &request))
		fail("PTP_SYS_OFFSET_EXTENDED");
	for (n = 0; n < request.n_samples; n++) {
		struct reading now = { ns_of(&request.ts[n][0]), ns_of(&request.ts[n][1]),
				       ns_of(&request.ts[n][2]) };

		if (now.after - now.before < best.after - best.before)
			best = now;
	}
	return best;
}

static int64_t middle(const struct reading *reading)
{
	return reading->before + (reading->after - reading->before) / 2;
}

/*
 * The readings are about a microsecond apart; what the clocks differ in rate is nothing over that.
 */
static int compare(int a, int b, long count, long pause_us)
{
	long i;

	for (i = 0; i < count; i++) {
		struct reading first = read_phc(a);
		struct reading second = read_phc(b);

		printf("%lld %lld\n", (long long)clock_ns(CLOCK_MONOTONIC_RAW),
		       (long long)(second.phc - first.phc - (middle(&second) - middle(&first))));
		usleep((useconds_t)pause_us);
	}
	return 0;
}

/*
 * PHC and system clock go on, each PHC reading lies between two of the system clock, and no call
 * lasts long.
 */
static int extended(int phc, long count)
{
	int64_t phc_backward = 0;
	int64_t system_backward = 0;
	int64_t not_around = 0;
	int64_t window_max = 0;
	int64_t offset_min = INT64_MAX;
	int64_t offset_max = INT64_MIN;
	struct reading last = { 0, 0, 0 };
	long i;

	for (i = 0; i < count; i++) {
		struct ptp_sys_offset_extended request = { .n_samples = PTP_MAX_SAMPLES };
		int64_t offset;
		unsigned int n;

		if (ioctl(phc, PTP_SYS_OFFSET_EXTENDED, &request))
			fail("PTP_SYS_OFFSET_EXTENDED");
		for (n = 0; n < request.n_samples; n++) {
			struct reading now = { ns_of(&request.ts[n][0]), ns_of(&request.ts[n][1]),
					       ns_of(&request.ts[n][2]) };

			phc_backward += now.phc < last.phc;
			system_backward += now.before < last.after;
			not_around += now.after < now.before;
			if (now.after - now.before > window_max)
				window_max = now.after - now.before;
			offset = now.phc - middle(&now);
			offset_min = offset < offset_min ? offset : offset_min;
			offset_max = offset > offset_max ? offset : offset_max;
			last = now;
		}
	}
	printf("phc_backward %lld\nsystem_backward %lld\nnot_around %lld\nwindow_ns %lld\noffset_ns %lld\nspread_ns %lld\n",
	       (long long)phc_backward, (long long)system_backward, (long long)not_around,
	       (long long)window_max, (long long)offset_min, (long long)(offset_max - offset_min));
	return 0;
}

static int attempt(int result)
{
	if (!result)
		puts("accepted");
	else
		puts(strerror(errno));
	return 0;
}

static int precise(int phc)
{
	struct ptp_sys_offset_precise request = { 0 };

	return attempt(ioctl(phc, PTP_SYS_OFFSET_PRECISE, &request));
}

/* ---- txtimes ---- */

static void send_at(int fd, int64_t txtime_ns, const struct sockaddr_in *to)
{
	char control[CMSG_SPACE(sizeof(uint64_t))] = { 0 };
	char payload[64] = { 0 };
	struct iovec vector = { payload, sizeof(payload) };
	struct msghdr message = {
		.msg_name = (void *)to,
		.msg_namelen = sizeof(*to),
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	uint64_t value = (uint64_t)txtime_ns;

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_TXTIME;
	header->cmsg_len = CMSG_LEN(sizeof(value));
	memcpy(CMSG_DATA(header), &value, sizeof(value));
	if (sendmsg(fd, &message, 0) < 0)
		fail("sendmsg");
}

static const struct sock_extended_err *error_of(struct msghdr *message)
{
	struct cmsghdr *header;

	for (header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level == SOL_IP && header->cmsg_type == IP_RECVERR)
			return (const struct sock_extended_err *)CMSG_DATA(header);
	}
	return NULL;
}

/* Frames the error queue names as refused for what they asked for. */
static long refused(int fd)
{
	long found = 0;

	for (;;) {
		char control[512];
		char payload[256];
		struct iovec vector = { payload, sizeof(payload) };
		struct msghdr message = {
			.msg_iov = &vector,
			.msg_iovlen = 1,
			.msg_control = control,
			.msg_controllen = sizeof(control),
		};
		const struct sock_extended_err *error;

		if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return found;
		error = error_of(&message);
		if (error && error->ee_origin == SO_EE_ORIGIN_TXTIME && error->ee_errno == EINVAL &&
		    error->ee_code == SO_EE_CODE_TXTIME_INVALID_PARAM)
			found++;
	}
}

static int txtime(const char *device, clockid_t clock, int64_t advance_ns, long count)
{
	struct sock_txtime request = { .clockid = clock, .flags = SOF_TXTIME_REPORT_ERRORS };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long i;

	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device)))
		fail(device);
	if (setsockopt(fd, SOL_SOCKET, SO_TXTIME, &request, sizeof(request))) {
		printf("SO_TXTIME %s\n", strerror(errno));
		return 0;
	}
	to.sin_addr.s_addr = htonl(0x0a000002); /* 10.0.0.2 */
	for (i = 0; i < count; i++) {
		send_at(fd, clock_ns(clock) + advance_ns, &to);
		usleep(1000);
	}
	usleep(50000);
	printf("refused %ld\n", refused(fd));
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 2 ? argv[1] : "";

	if (!strcmp(what, "compare") && argc == 6)
		return compare(open_phc(argv[2]), open_phc(argv[3]), atol(argv[4]), atol(argv[5]));
	if (!strcmp(what, "extended") && argc == 4)
		return extended(open_phc(argv[2]), atol(argv[3]));
	if (!strcmp(what, "precise") && argc == 3)
		return precise(open_phc(argv[2]));
	if (!strcmp(what, "pps") && argc == 3)
		return attempt(ioctl(open_phc(argv[2]), PTP_ENABLE_PPS, 1));
	if (!strcmp(what, "txtime") && argc == 6)
		return txtime(argv[2], atoi(argv[3]), atoll(argv[4]), atol(argv[5]));
	fprintf(stderr, "ptp_probe: see the head of ptp_probe.c\n");
	return 2;
}
