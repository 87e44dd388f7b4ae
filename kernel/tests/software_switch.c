// SPDX-License-Identifier: GPL-2.0-only
/*
 * Forwards all frames from device FROM to device TO by an XDP program or a pair of AF_XDP sockets
 * in copy mode, or is load, until it is ended:
 * `software_switch xdp|af-xdp FROM TO`, `software_switch pass DEVICE`, `software_switch load`.
 * "pass" attaches a program that does nothing, without which veth takes no redirected frames.
 * "load" never sleeps, and has an interrupt of a timer every 100 us.
 */
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "packet_socket.h"

enum { FRAMES = 64, FRAME_BYTES = 4096, LOAD_US = 100 };

struct ring {
	uint32_t *producer;
	uint32_t *consumer;
	void *entries;
};

struct xsk {
	int fd;
	unsigned char *frames;
	struct ring fill, completion, rx, tx;
};

#define INSN(c, d, s, o, i) \
	((struct bpf_insn){ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) })
#define SET(reg, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, reg, 0, 0, value)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

static int bpf(int command, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, command, attr, sizeof(*attr));

	require(fd >= 0, "bpf");
	return fd;
}

/* Runs until the process ends. */
static void attach(const char *device, const struct bpf_insn *insns, uint32_t count)
{
	static char log[4096];
	union bpf_attr load = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)insns,
		.insn_cnt = count,
		.license = (uintptr_t) "GPL",
		.log_buf = (uintptr_t)log,
		.log_size = sizeof(log),
		.log_level = 1,
	};
	union bpf_attr link = {
		.link_create = {
			.prog_fd = (uint32_t)bpf(BPF_PROG_LOAD, &load),
			.target_ifindex = if_nametoindex(device),
			.attach_type = BPF_XDP,
			.flags = XDP_FLAGS_DRV_MODE,
		},
	};

	bpf(BPF_LINK_CREATE, &link);
}

static void map_ring(struct ring *ring, int fd, int option, const struct xdp_ring_offset *at,
		     off_t offset)
{
	int entries = FRAMES;
	char *start;

	require(!setsockopt(fd, SOL_XDP, option, &entries, sizeof(entries)), "XDP ring");
	start = mmap(NULL, at->desc + FRAMES * sizeof(struct xdp_desc), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_POPULATE, fd, offset);
	require(start != MAP_FAILED, "mmap of a ring");
	ring->producer = (uint32_t *)(start + at->producer);
	ring->consumer = (uint32_t *)(start + at->consumer);
	ring->entries = start + at->desc;
}

static struct xsk open_xsk(const char *device)
{
	struct xsk xsk = { .fd = socket(AF_XDP, SOCK_RAW, 0) };
	struct xdp_umem_reg umem = { .len = FRAMES * FRAME_BYTES, .chunk_size = FRAME_BYTES };
	struct sockaddr_xdp to = { .sxdp_family = AF_XDP,
				   .sxdp_flags = XDP_COPY,
				   .sxdp_ifindex = if_nametoindex(device) };
	struct xdp_mmap_offsets at;
	socklen_t size = sizeof(at);

	require(xsk.fd >= 0, "AF_XDP");
	xsk.frames =
		mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	umem.addr = (uintptr_t)xsk.frames;
	require(!setsockopt(xsk.fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)), "XDP_UMEM_REG");
	require(!getsockopt(xsk.fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &size), "XDP_MMAP_OFFSETS");
	map_ring(&xsk.fill, xsk.fd, XDP_UMEM_FILL_RING, &at.fr, XDP_UMEM_PGOFF_FILL_RING);
	map_ring(&xsk.completion, xsk.fd, XDP_UMEM_COMPLETION_RING, &at.cr,
		 XDP_UMEM_PGOFF_COMPLETION_RING);
	map_ring(&xsk.rx, xsk.fd, XDP_RX_RING, &at.rx, XDP_PGOFF_RX_RING);
	map_ring(&xsk.tx, xsk.fd, XDP_TX_RING, &at.tx, XDP_PGOFF_TX_RING);
	require(!bind(xsk.fd, (struct sockaddr *)&to, sizeof(to)), "bind");
	return xsk;
}

static void put(struct ring *ring, uint32_t by)
{
	__atomic_store_n(ring->producer, *ring->producer + by, __ATOMIC_RELEASE);
}

/* Frames of the sockets are copied: each has its own, and the one sent last is done with. */
static void forward(const char *from, const char *to)
{
	union bpf_attr map = {
		.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4, .max_entries = 1
	};
	int map_fd = bpf(BPF_MAP_CREATE, &map);
	struct xsk in = open_xsk(from);
	struct xsk out = open_xsk(to);
	uint32_t key = 0;
	union bpf_attr entry = { .map_fd = (uint32_t)map_fd,
				 .key = (uintptr_t)&key,
				 .value = (uintptr_t)&in.fd };
	struct bpf_insn to_socket[] = {
		INSN(BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map_fd),
		INSN(0, 0, 0, 0, 0),
		SET(BPF_REG_2, 0),
		SET(BPF_REG_3, XDP_PASS),
		CALL(BPF_FUNC_redirect_map),
		EXIT,
	};
	struct pollfd ready = { .fd = in.fd, .events = POLLIN };

	for (uint32_t i = 0; i < FRAMES; i++)
		((uint64_t *)in.fill.entries)[i] = (uint64_t)i * FRAME_BYTES;
	put(&in.fill, FRAMES);
	bpf(BPF_MAP_UPDATE_ELEM, &entry);
	attach(from, to_socket, sizeof(to_socket) / sizeof(*to_socket));
	for (;;) {
		require(poll(&ready, 1, -1) > 0, "poll");
		while (*in.rx.consumer != __atomic_load_n(in.rx.producer, __ATOMIC_ACQUIRE)) {
			struct xdp_desc *got =
				&((struct xdp_desc *)in.rx.entries)[*in.rx.consumer % FRAMES];
			uint32_t place = *out.tx.producer % FRAMES;
			struct xdp_desc sent = { .addr = (uint64_t)place * FRAME_BYTES,
						 .len = got->len };

			memcpy(out.frames + sent.addr, in.frames + got->addr, got->len);
			((struct xdp_desc *)out.tx.entries)[place] = sent;
			put(&out.tx, 1);
			((uint64_t *)in.fill.entries)[*in.fill.producer % FRAMES] = got->addr;
			put(&in.fill, 1);
			__atomic_store_n(in.rx.consumer, *in.rx.consumer + 1, __ATOMIC_RELEASE);
			sendto(out.fd, NULL, 0, MSG_DONTWAIT, NULL, 0);
			*out.completion.consumer =
				__atomic_load_n(out.completion.producer, __ATOMIC_ACQUIRE);
		}
	}
}

static void on_timer(int signal)
{
	(void)signal;
}

int main(int argc, char **argv)
{
	const struct bpf_insn pass[] = { SET(BPF_REG_0, XDP_PASS), EXIT };
	const struct itimerval often = { { 0, LOAD_US }, { 0, LOAD_US } };

	require(argc > 1, "usage: software_switch WAY ...");
	if (!strcmp(argv[1], "load")) {
		signal(SIGALRM, on_timer);
		setitimer(ITIMER_REAL, &often, NULL);
		for (;;)
			;
	}
	if (!strcmp(argv[1], "af-xdp"))
		forward(argv[2], argv[3]);
	if (!strcmp(argv[1], "xdp")) {
		const struct bpf_insn redirect[] = {
			SET(BPF_REG_1, (int)if_nametoindex(argv[3])),
			SET(BPF_REG_2, 0),
			CALL(BPF_FUNC_redirect),
			EXIT,
		};

		attach(argv[2], redirect, sizeof(redirect) / sizeof(*redirect));
	} else {
		attach(argv[2], pass, sizeof(pass) / sizeof(*pass));
	}
	pause();
	return 0;
}
