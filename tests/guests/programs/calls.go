// Go with C: goroutines in C functions that sleep, lock and call back; preemption by signals; children; a server with its
// clients; and each way to end. calls PART prints what came out, the same in each run.
package main

/*
#cgo CFLAGS: -O2
#cgo LDFLAGS: -lpthread
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern int back(int);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static long counted;
static int turn;

static void count(int times) {
  for (int i = 0; i < times; i++) {
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
  }
}
static long how_many(void) { return counted; }

static void take_turns(int me, int everybody, int rounds) {
  for (int i = 0; i < rounds; i++) {
    pthread_mutex_lock(&lock);
    while (turn % everybody != me) pthread_cond_wait(&turned, &lock);
    turn++;
    pthread_cond_broadcast(&turned);
    pthread_mutex_unlock(&lock);
  }
}
static int turns(void) { return turn; }

static int sleep_ms(int ms) {  // in full, whatever signals come
  struct timespec left = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&left, &left) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

static int call_back(int n) { usleep(1000); return back(n) + 1; }

static void *post(void *semaphore) { usleep(2000); sem_post(semaphore); return (void *)7; }
static int with_a_thread(void) {
  sem_t semaphore;
  pthread_t thread;
  void *result = 0;
  sem_init(&semaphore, 0, 0);
  if (pthread_create(&thread, 0, post, &semaphore) != 0) return -1;
  while (sem_wait(&semaphore) != 0)
    if (errno != EINTR) return -2;
  pthread_join(thread, &result);
  sem_destroy(&semaphore);
  return (int)(intptr_t)result;
}

static int foreign(void *unused) { return call_back(*(int *)unused); }
static void *from_a_thread_of_c(void *n) { *(int *)n = foreign(n); return 0; }
static int call_back_from_c(int n) {
  pthread_t thread;
  if (pthread_create(&thread, 0, from_a_thread_of_c, &n) != 0) return -1;
  pthread_join(thread, 0);
  return n;
}
static void fault(void) { *(volatile int *)0 = 1; }
*/
import "C"

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

//export back
func back(n C.int) C.int {
	runtime.Gosched()
	return n * 2
}

func together(many int, work func(int)) {
	var group sync.WaitGroup
	for i := 0; i < many; i++ {
		group.Add(1)
		go func(i int) { defer group.Done(); work(i) }(i)
	}
	group.Wait()
}

func locks() {
	together(32, func(int) { C.count(5000) })
	fmt.Println(C.how_many())
	together(8, func(i int) { C.take_turns(C.int(i), 8, 50) })
	fmt.Println(C.turns())
}

func sleeps() {
	var failed sync.Map
	together(64, func(i int) {
		if C.sleep_ms(C.int(1+i%20)) != 0 {
			failed.Store(i, true)
		}
	})
	failed.Range(func(i, _ any) bool { fmt.Println("failed", i); return true })
	fmt.Println("slept")
}

func callbacks() {
	sums := make([]C.int, 40)
	together(40, func(i int) { sums[i] = C.call_back(C.int(i)) + C.call_back_from_c(C.int(i)) + C.with_a_thread() })
	fmt.Println(sums)
	together(20, func(int) { runtime.LockOSThread(); C.usleep(100) }) // whose threads end with them
	fmt.Println("threads ended")
}

func preemption() { // loops that nothing but a signal interrupts, beside calls into C
	done := make(chan uint64)
	for i := 0; i < 4; i++ {
		go func(seed uint64) {
			for n := 0; n < 200000000; n++ {
				seed = seed*6364136223846793005 + 1442695040888963407
			}
			done <- seed
		}(uint64(i))
	}
	together(16, func(int) { C.sleep_ms(20); runtime.GC() })
	sum := uint64(0)
	for i := 0; i < 4; i++ {
		sum ^= <-done
	}
	fmt.Println(sum)
}

func signals() {
	caught := make(chan os.Signal, 100)
	signal.Notify(caught, syscall.SIGUSR1, syscall.SIGHUP)
	for i := 0; i < 50; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-caught
	}
	defer func() { fmt.Println("recovered:", recover()) }()
	var none *struct{ n int }
	fmt.Println(none.n)
}

func children() {
	together(20, func(i int) {
		command := exec.Command("sh", "-c", fmt.Sprintf("cat >/dev/null; exit %d", i))
		pipe, _ := command.StdinPipe()
		if err := command.Start(); err != nil {
			fmt.Println(err)
		}
		io.WriteString(pipe, "through a pipe")
		pipe.Close()
		command.Wait()
		if command.ProcessState.ExitCode() != i {
			fmt.Println("ended with", command.ProcessState)
		}
	})
	sleeper := exec.Command("sleep", "60")
	sleeper.Start()
	sleeper.Process.Kill()
	fmt.Println(sleeper.Wait())
	_, err := exec.Command("/no/such/program").Output()
	fmt.Println(err)
}

func serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		C.sleep_ms(1)
		fmt.Fprintf(answer, "%x", sha256.Sum256([]byte(request.URL.Path)))
	}))
	texts := make([]string, 300)
	together(300, func(i int) {
		answer, err := http.Get(fmt.Sprintf("http://%s/%d", listener.Addr(), i))
		if err != nil {
			texts[i] = err.Error()
			return
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		texts[i] = string(text)
	})
	fmt.Printf("%x\n", sha256.Sum256([]byte(fmt.Sprint(texts))))
}

func exits() { // by the bare system call, with threads in C and a timer running
	for i := 0; i < 8; i++ {
		go C.sleep_ms(60000)
	}
	time.Sleep(20 * time.Millisecond)
	C.with_a_thread()
	os.Exit(9)
}

func panics() { C.with_a_thread(); var none map[string]int; none["a"] = 1 }
func faults() { C.with_a_thread(); C.fault() }

func main() {
	parts := map[string]func(){"locks": locks, "sleeps": sleeps, "callbacks": callbacks, "preemption": preemption,
		"signals": signals, "children": children, "serve": serve, "exits": exits, "panics": panics, "faults": faults}
	parts[os.Args[1]]()
}
