/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking at an interface and configuring its stamps; see interface.h. */
#include "interface.h"

#include <errno.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/if_arp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/*
 * Any socket reaches the device ioctls of its namespace; this kind needs neither privileges nor
 * IPv4.
 */
static int device_ioctl(unsigned long request, struct ifreq *argument)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return errno;
	error = ioctl(fd, request, argument) ? errno : 0;
	close(fd);
	return error;
}

static void ask(const char *name, unsigned long request, struct ifreq *argument, const char *what)
{
	int error = device_ioctl(request, argument);

	if (error)
		kpt_environment_error("%s of interface %s cannot be read: %s", what, name,
				      strerror(error));
}

struct kpt_interface kpt_interface_find(const char *name)
{
	struct kpt_interface interface = { .index = 0 };
	struct ifreq request = { .ifr_name = "" };

	if (!*name || strlen(name) >= sizeof(interface.name))
		kpt_usage_error(
			"interface \"%s\" is not a name of 1...%d characters; ip link lists them",
			name, IF_NAMESIZE - 1);
	memcpy(interface.name, name, strlen(name) + 1);
	memcpy(request.ifr_name, name, strlen(name) + 1);
	if (device_ioctl(SIOCGIFINDEX, &request))
		kpt_usage_error(
			"interface %s does not exist in this network namespace; ip link lists them",
			name);
	interface.index = request.ifr_ifindex;
	ask(name, SIOCGIFFLAGS, &request, "the state");
	if (!(request.ifr_flags & IFF_UP))
		kpt_environment_error("interface %s is down; ip link set %s up", name, name);
	ask(name, SIOCGIFMTU, &request, "the MTU");
	interface.mtu_bytes = request.ifr_mtu;
	ask(name, SIOCGIFHWADDR, &request, "the address");
	if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER &&
	    request.ifr_hwaddr.sa_family != ARPHRD_LOOPBACK)
		kpt_usage_error(
			"interface %s is of type %d, not Ethernet (%d); name an Ethernet interface",
			name, request.ifr_hwaddr.sa_family, ARPHRD_ETHER);
	memcpy(interface.mac, request.ifr_hwaddr.sa_data, KPT_MAC_BYTES);
	return interface;
}

static int stamp(const struct kpt_interface *interface, bool sent)
{
	struct hwtstamp_config config = { .flags = 0,
					  .tx_type = HWTSTAMP_TX_OFF,
					  .rx_filter = HWTSTAMP_FILTER_NONE };
	struct ifreq request = { .ifr_data = (char *)&config };
	int error;

	memcpy(request.ifr_name, interface->name, sizeof(interface->name));
	error = device_ioctl(SIOCGHWTSTAMP, &request);
	/* A driver may be able to set what it cannot show. */
	if (error && error != EOPNOTSUPP && error != EINVAL && error != ENOTTY)
		return error;
	if (!error &&
	    (sent ? config.tx_type == HWTSTAMP_TX_ON : config.rx_filter == HWTSTAMP_FILTER_ALL))
		return 0;
	config.flags = 0;
	if (sent)
		config.tx_type = HWTSTAMP_TX_ON;
	else
		config.rx_filter = HWTSTAMP_FILTER_ALL;
	error = device_ioctl(SIOCSHWTSTAMP, &request);
	if (error)
		return error;
	/* Drivers answer with what they really do. */
	return (sent ? config.tx_type == HWTSTAMP_TX_ON : config.rx_filter == HWTSTAMP_FILTER_ALL) ?
		       0 :
		       ERANGE;
}

int kpt_interface_stamp_sent(const struct kpt_interface *interface)
{
	return stamp(interface, true);
}

int kpt_interface_stamp_received(const struct kpt_interface *interface)
{
	return stamp(interface, false);
}

void kpt_socket_buffer(int fd, int direction, int bytes)
{
	int force = direction == SO_SNDBUF ? SO_SNDBUFFORCE : SO_RCVBUFFORCE;

	if (setsockopt(fd, SOL_SOCKET, force, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, direction, &bytes, sizeof(bytes)))
		kpt_environment_error("the socket's buffer cannot be enlarged: %s",
				      strerror(errno));
}
