// at_start.cpp: the command reads accounts from its very start.
#include "account.h"

namespace {

const bool g_reads_accounts = (hostprobe::analysis::read_accounts(), true);

}  // namespace
