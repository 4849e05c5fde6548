// Java's threads, locks, parking, servers, children, faults that the virtual machine catches, and each way to end:
// java Rooms PART prints what came out, the same in each run.

import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;
import java.util.stream.*;

public class Rooms {
  interface Work { void run(int i) throws Exception; }

  static void together(int many, Work work) throws Exception {
    List<Thread> threads = new ArrayList<>();
    Queue<Throwable> failures = new ConcurrentLinkedQueue<>();
    for (int i = 0; i < many; i++) {
      final int me = i;
      Thread thread = new Thread(() -> {
        try { work.run(me); } catch (Throwable failure) { failures.add(failure); }
      });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) thread.join();
    for (Throwable failure : failures) System.out.println("failed: " + failure);
  }

  static void threads() throws Exception {
    AtomicInteger ended = new AtomicInteger();
    for (int round = 0; round < 10; round++) together(40, i -> { Thread.sleep(i % 3); ended.incrementAndGet(); });
    System.out.println(ended);
    Thread sleeper = new Thread(() -> {
      try { Thread.sleep(60000); } catch (InterruptedException woken) { System.out.println("interrupted"); }
    });
    sleeper.start();
    sleeper.interrupt();
    sleeper.join();
  }

  static long fibonacci(int n) {
    class Task extends RecursiveTask<Long> {
      final int n;
      Task(int n) { this.n = n; }
      protected Long compute() {
        if (n < 2) return (long) n;
        Task left = new Task(n - 1);
        left.fork();
        return new Task(n - 2).compute() + left.join();
      }
    }
    return new ForkJoinPool(4).invoke(new Task(n));
  }

  static void forkjoin() throws Exception {
    System.out.println(fibonacci(22));
    System.out.println(IntStream.range(0, 200000).parallel().mapToLong(i -> (long) i * i).sum());
    ScheduledExecutorService pool = Executors.newScheduledThreadPool(3);
    List<Future<Integer>> futures = new ArrayList<>();
    for (int i = 0; i < 50; i++) { final int n = i; futures.add(pool.schedule(() -> n * n, i % 7, TimeUnit.MILLISECONDS)); }
    int sum = 0;
    for (Future<Integer> future : futures) sum += future.get();
    pool.shutdown();
    System.out.println(sum + " " + pool.awaitTermination(60, TimeUnit.SECONDS));
  }

  static final Object monitor = new Object();
  static int counted, turn;

  static void locks() throws Exception {
    together(16, i -> { for (int n = 0; n < 20000; n++) synchronized (monitor) { counted++; } });
    System.out.println(counted);
    together(6, i -> {
      for (int n = 0; n < 200; n++) synchronized (monitor) {
        while (turn % 6 != i) monitor.wait(5000);
        turn++;
        monitor.notifyAll();
      }
    });
    System.out.println(turn);
    ReentrantReadWriteLock both = new ReentrantReadWriteLock(true);
    int[] values = new int[1];
    together(8, i -> {
      for (int n = 0; n < 500; n++) {
        Lock lock = n % 10 == 0 ? both.writeLock() : both.readLock();
        lock.lock();
        try { if (n % 10 == 0) values[0]++; } finally { lock.unlock(); }
      }
    });
    System.out.println(values[0]);
  }

  static void parking() throws Exception {
    Thread[] ring = new Thread[4];
    AtomicInteger next = new AtomicInteger();
    for (int i = 0; i < ring.length; i++) {
      final int me = i;
      ring[i] = new Thread(() -> {
        for (int round = 0; round < 300; round++) {
          while (next.get() % ring.length != me) LockSupport.park();
          next.incrementAndGet();
          LockSupport.unpark(ring[(me + 1) % ring.length]);
        }
      });
    }
    for (Thread thread : ring) thread.start();
    for (Thread thread : ring) thread.join();
    System.out.println(next);
    for (int i = 0; i < 200; i++) LockSupport.parkNanos(50000);
    SynchronousQueue<Integer> queue = new SynchronousQueue<>();
    AtomicLong sum = new AtomicLong();
    together(8, i -> { for (int n = 0; n < 200; n++) if (i % 2 == 0) queue.put(n); else sum.addAndGet(queue.take()); });
    System.out.println(sum);
    CyclicBarrier barrier = new CyclicBarrier(5);
    together(5, i -> { for (int n = 0; n < 50; n++) barrier.await(); });
    System.out.println(new Semaphore(0).tryAcquire(3, TimeUnit.MILLISECONDS));
  }

  static void serve() throws Exception {
    Selector selector = Selector.open();
    ServerSocketChannel server = ServerSocketChannel.open();
    server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
    server.configureBlocking(false);
    server.register(selector, SelectionKey.OP_ACCEPT);
    AtomicBoolean ending = new AtomicBoolean();
    Thread echo = new Thread(() -> {
      ByteBuffer bytes = ByteBuffer.allocateDirect(8192);
      try {
        while (!ending.get()) {
          selector.select(1000);
          for (SelectionKey key : selector.selectedKeys()) {
            if (key.isAcceptable()) {
              SocketChannel client = server.accept();
              client.configureBlocking(false);
              client.register(selector, SelectionKey.OP_READ);
            } else {
              SocketChannel client = (SocketChannel) key.channel();
              bytes.clear();
              if (client.read(bytes) < 0) { client.close(); continue; }
              bytes.flip();
              while (bytes.hasRemaining()) client.write(bytes);
            }
          }
          selector.selectedKeys().clear();
        }
      } catch (IOException failure) { System.out.println(failure); }
    });
    echo.start();
    int port = ((InetSocketAddress) server.getLocalAddress()).getPort();
    AtomicLong echoed = new AtomicLong();
    together(12, i -> {
      try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        for (int n = 1; n <= 100; n++) {
          byte[] sent = String.valueOf(n * 1000003L * (i + 1)).repeat(n).getBytes(StandardCharsets.UTF_8);
          socket.getOutputStream().write(sent);
          if (!Arrays.equals(sent, socket.getInputStream().readNBytes(sent.length))) throw new IOException("other bytes");
          echoed.addAndGet(sent.length);
        }
      }
    });
    ending.set(true);
    selector.wakeup();
    echo.join();
    System.out.println(echoed);
    try { new Socket(InetAddress.getLoopbackAddress(), 1).close(); } catch (ConnectException failure) { System.out.println("refused"); }
  }

  static int field(int[] numbers) { return numbers.length; }
  static int deep(int n) { return n < 0 ? n : 1 + deep(n + 1); }

  static void faults() throws Exception {  // null, division and stack bounds are found by the processor's own signals
    together(4, i -> {
      int caught = 0;
      for (int n = 0; n < 60000; n++)
        try { field(n % 64 == 0 ? null : new int[1]); } catch (NullPointerException expected) { caught++; }
      for (int n = 0; n < 2000; n++)
        try { caught += 7 / (n % 2); } catch (ArithmeticException expected) { caught++; }
      for (int n = 0; n < 5; n++)
        try { deep(0); } catch (StackOverflowError expected) { caught++; }
      synchronized (monitor) { counted += caught; }
    });
    System.out.println(counted);
    for (int n = 0; n < 5; n++) { byte[][] garbage = new byte[200][]; Arrays.setAll(garbage, k -> new byte[10000]); System.gc(); }
  }

  static void children() throws Exception {
    together(8, i -> {
      for (int n = 0; n < 3; n++) {
        Process child = new ProcessBuilder("sh", "-c", "cat; exit " + (i + n)).start();
        child.getOutputStream().write("through a pipe".getBytes());
        child.getOutputStream().close();
        String said = new String(child.getInputStream().readAllBytes());
        if (child.waitFor() != i + n || !said.equals("through a pipe")) throw new IOException(said + child.exitValue());
      }
    });
    Process sleeper = new ProcessBuilder("sleep", "60").start();
    sleeper.destroy();
    System.out.println(sleeper.waitFor());
    try { new ProcessBuilder("/no/such/program").start(); } catch (IOException failure) { System.out.println("missing"); }
  }

  static void hooks() { Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("shutdown"))); }

  static void exits() throws Exception {  // from another thread, while others run, wait and hold locks
    hooks();
    for (int i = 0; i < 4; i++) {
      Thread busy = new Thread(() -> { while (true) synchronized (monitor) { counted++; } });
      busy.setDaemon(i % 2 == 0);
      busy.start();
      new Thread(LockSupport::park).start();
    }
    Thread.sleep(10);
    new Thread(() -> System.exit(7)).start();
    new CountDownLatch(1).await();
  }

  static void halts() throws Exception { hooks(); new Thread(() -> Runtime.getRuntime().halt(8)).start(); new CountDownLatch(1).await(); }
  static void throwing() throws Exception { new Thread(() -> System.out.println("another")).start(); throw new IllegalStateException("uncaught"); }

  static void terminated() throws Exception {
    hooks();
    new ProcessBuilder("kill", "-QUIT", String.valueOf(ProcessHandle.current().pid())).start().waitFor();  // prints all stacks
    Thread.sleep(50);
    new ProcessBuilder("kill", "-TERM", String.valueOf(ProcessHandle.current().pid())).start().waitFor();
    new CountDownLatch(1).await();
  }

  public static void main(String[] words) throws Exception {
    Rooms.class.getDeclaredMethod(words[0]).invoke(null);
  }
}
