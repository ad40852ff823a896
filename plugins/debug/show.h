/* show.h: a buffer in one line, for people */
#pragma once
#include "headrace.h"

char *show_buffer (const HrBuffer *buffer);
