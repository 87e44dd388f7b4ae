// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print one register of a PHY, or set it: `phy_register eth0 0 0x1940` pulls a cable that no
 * emulator can.
 */
#include <linux/mii.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

static int ask(int wire, unsigned long what, struct ifreq *request, struct mii_ioctl_data *data)
{
	int error;

	memcpy(&request->ifr_data, data, sizeof(*data));
	error = ioctl(wire, what, request);
	memcpy(data, &request->ifr_data, sizeof(*data));
	if (error)
		perror("phy_register");
	return error;
}

int main(int argc, char **argv)
{
	struct mii_ioctl_data data = { 0 };
	struct ifreq request = { 0 };
	int wire = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc < 3 || argc > 4 || strlen(argv[1]) >= sizeof(request.ifr_name)) {
		fprintf(stderr, "usage: phy_register INTERFACE REGISTER [VALUE]\n");
		return 2;
	}
	strcpy(request.ifr_name, argv[1]);
	if (wire < 0 || ask(wire, SIOCGMIIPHY, &request, &data))
		return 1;
	data.reg_num = (unsigned short)strtoul(argv[2], NULL, 0);
	if (argc == 4) {
		data.val_in = (unsigned short)strtoul(argv[3], NULL, 0);
		return ask(wire, SIOCSMIIREG, &request, &data) ? 1 : 0;
	}
	if (ask(wire, SIOCGMIIREG, &request, &data))
		return 1;
	printf("0x%04x\n", data.val_out);
	return 0;
}
