#!/bin/busybox sh
# guest_init.sh: the first process of the machine that guest.sh starts. Joins Debian's root and this checkout, which the machine
# reads through 9p, with memory for what is written; runs $OUT/command there, leaves its status, and switches the machine off.
export PATH=/bin
/bin/busybox mkdir -p /proc /sys /dev /read /written /joined
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev

stop() {
  echo "guest: $*" >/dev/console
  poweroff -f
}

for module in virtio_pci 9pnet_virtio 9p overlay virtio-rng; do
  modprobe "$module" || stop "the kernel has no $module"
done

# joined TAG FOLDER: what the host shares as TAG, which is only read, is at FOLDER and may be written there.
joined() {
  mkdir -p "/read/$1" "/written/$1" "$2"
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=loose,ro "$1" "/read/$1" &&
    mount -t tmpfs -o size=75% "$1" "/written/$1" && mkdir "/written/$1/new" "/written/$1/work" &&
    mount -t overlay -o "lowerdir=/read/$1,upperdir=/written/$1/new,workdir=/written/$1/work" "$1" "$2" ||
    stop "$1 cannot be mounted"
}

joined root /joined
mount --move /proc /joined/proc
mount --move /sys /joined/sys
mount --move /dev /joined/dev
mkdir -p /joined/dev/shm /joined/dev/pts
for folder in tmp run dev/shm; do
  mount -t tmpfs -o mode=1777 tmpfs "/joined/$folder"
done
mount -t devpts devpts /joined/dev/pts
mount -t tracefs tracefs /joined/sys/kernel/tracing
joined checkout "/joined$CHECKOUT"
mkdir -p "/joined$OUT"
mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=none out "/joined$OUT" || stop "$OUT cannot be mounted"
hostname arm64-guest
ip link set lo up
chroot /joined /usr/bin/env -i HOME=/root LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin OUT="$OUT" CHECKOUT="$CHECKOUT" \
  bash -c 'ulimit -c 0; cd "$CHECKOUT" && bash "$OUT/command" >"$OUT/output" 2>&1; echo $? >"$OUT/status"'
poweroff -f
