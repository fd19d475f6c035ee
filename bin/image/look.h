/* SPDX-License-Identifier: BSD-2-Clause */
/* Colours and distances that all pictures share. */
#ifndef CACHEX_IMAGE_LOOK_H
#define CACHEX_IMAGE_LOOK_H

#define LC__PAPER 0xffffffu   /* behind everything */
#define LC__INK 0x202020u     /* text */
#define LC__DIM_INK 0x6a6a6au /* text of less weight */
#define LC__RULE 0xc4c4c4u    /* lines and frames */
#define LC__WASH 0xeeeeeeu    /* an area without a picture */
#define LC__ALARM 0xb3261eu   /* what is missing or damaged */

#define LC__MARGIN 16         /* around a page, in pixels */

#endif
