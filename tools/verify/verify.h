/* verify.h: the subcommands of hr-verify, one a file of that name */
#pragma once
#include <glib.h>

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* each gets the words behind its name, argv[0] being "hr-verify NAME", and gives the exit status */
int verify_parity (int argc, char **argv);
