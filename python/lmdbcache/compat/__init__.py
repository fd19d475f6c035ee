# SPDX-License-Identifier: BSD-2-Clause
"""Interfaces of other caches, over this one."""
