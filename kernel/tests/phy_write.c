// SPDX-License-Identifier: GPL-2.0-only
/* Set one register of a PHY: `phy_write eth0 0 0x1940` pulls a cable that no emulator can. */
#include <linux/mii.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int argc, char **argv)
{
	struct mii_ioctl_data data;
	struct ifreq request = { 0 };
	int wire = socket(AF_INET, SOCK_DGRAM, 0);

	if (argc != 4 || strlen(argv[1]) >= sizeof(request.ifr_name)) {
		fprintf(stderr, "usage: phy_write INTERFACE REGISTER VALUE\n");
		return 2;
	}
	strcpy(request.ifr_name, argv[1]);
	if (wire < 0 || ioctl(wire, SIOCGMIIPHY, &request)) {
		perror("phy_write: the PHY's address");
		return 1;
	}
	memcpy(&data, &request.ifr_data, sizeof(data));
	data.reg_num = (unsigned short)strtoul(argv[2], NULL, 0);
	data.val_in = (unsigned short)strtoul(argv[3], NULL, 0);
	memcpy(&request.ifr_data, &data, sizeof(data));
	if (ioctl(wire, SIOCSMIIREG, &request)) {
		perror("phy_write: the register");
		return 1;
	}
	return 0;
}
