// passed_file.h: the descriptor of the trace file, on its way between the writer's table and the program's.
//
// Room 2 (probe/). A program that has given up root, or gone to another root folder, may not be able to open the file
// again, and then the writer's descriptor is the only one there is. So before the writer ends its thread it sends it to whoever
// asked it to, and the next writer gets it from there: from the moment that it is received, or opened in time, until the
// writer has copied its number, the descriptor is "parked" in the program's table.
#pragma once

namespace hostprobe::probe {

// Where the writer sends its descriptor when it leaves. One at a time.
class FileReceiver {
 public:
  explicit FileReceiver(bool is_needed);
  ~FileReceiver();
  FileReceiver(const FileReceiver&) = delete;
  FileReceiver& operator=(const FileReceiver&) = delete;
  // -1: nothing has come.
  int take();

 private:
  int socket_ = -1;
};
// The writer's last deed.
void pass_file_on();

// Keeps `fd` for the next writer; closes it where one is kept already.
void park_file(int fd);
// Negative: none.
int parked_file();
void close_parked_file();
// Without a writer, on the program's threads: it becomes g_file.fd. False: none is parked, or it is the program's by now.
bool take_parked_file();

// The new writer: a descriptor table of its own, with `fd`, if that is parked still, and nothing else. False: the kernel is
// older than 5.9.
bool have_own_descriptors(int fd);
// Whoever started it, while `fd` was parked: until it has; then the number is the program's again.
void await_copy(int fd);

}  // namespace hostprobe::probe
