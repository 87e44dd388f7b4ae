// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of all interfaces as the C library lists them: `interfaces`. Exit code 1 if that takes more
 * than ten seconds.
 */
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
	struct ifaddrs *list;
	struct ifaddrs *each;

	/* A listing the kernel breaks off is begun again and again. */
	alarm(10);
	if (getifaddrs(&list)) {
		perror("interfaces");
		return 1;
	}
	for (each = list; each; each = each->ifa_next)
		printf("%s ", each->ifa_name);
	printf("\n");
	freeifaddrs(list);
	return 0;
}
