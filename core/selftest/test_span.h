/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the vectors of span are made of. */
#ifndef KPN_TEST_SPAN_H
#define KPN_TEST_SPAN_H

struct kpn_selftest;

/** kpn_test_span_wire() - of kpn_test_span(), what is seen on the exact NIC */
void kpn_test_span_wire(struct kpn_selftest *t);

#endif
