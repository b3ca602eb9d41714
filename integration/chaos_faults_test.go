package integration

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	faultTime = 3 * time.Second  // how long most faults last
	leaseTime = 12 * time.Second // longer than the leases of processes
)

// A fault happens to a part. It returns once the part can start or serve again.
type fault[part any] struct {
	name string
	do   func(t *testing.T, of part)
}

// replicaFaults happen to one replica.
var replicaFaults = []fault[*replica]{
	{"kill -9", func(_ *testing.T, r *replica) { <-r.signal(syscall.SIGKILL) }},
	{"SIGTERM", func(_ *testing.T, r *replica) { <-r.signal(syscall.SIGTERM) }},
	{"SIGSTOP", func(_ *testing.T, r *replica) {
		r.signal(syscall.SIGSTOP)
		time.Sleep(faultTime)
		r.signal(syscall.SIGCONT)
	}},
	{"all its connections are cut", func(_ *testing.T, r *replica) { r.front.cut() }},
	{"it cannot be reached by the balancer", func(_ *testing.T, r *replica) { r.front.fail(true, 0) }},
	{"it cannot be reached by the other replicas", func(_ *testing.T, r *replica) { r.peers.fail(true, 0) }},
	{"its network is slow", func(_ *testing.T, r *replica) { r.front.fail(false, 100*time.Millisecond) }},
}

// longFaults happen where there is time for them: another process continues the tasks of the replica.
var longFaults = []fault[*replica]{
	{"SIGSTOP beyond its leases", func(_ *testing.T, r *replica) {
		r.signal(syscall.SIGSTOP)
		time.Sleep(leaseTime)
		r.signal(syscall.SIGCONT)
	}},
}

// apartFaults happen in namespaces of the test.
var apartFaults = []fault[*replica]{fullDisk, {"its packets are lost", func(t *testing.T, r *replica) { losePackets(t, r.address, faultTime) }}}

// losePackets drops all packets to and from an address, so connections to it neither end nor go on.
func losePackets(t *testing.T, address string, lasts time.Duration) {
	t.Helper()
	for _, end := range []string{"--dport", "--sport"} {
		rule := []string{"INPUT", "-p", "tcp", end, portOf(t, address), "-j", "DROP"}
		run(t, os.Environ(), append([]string{program(t, "iptables"), "-w", "-A"}, rule...)...)
		defer run(t, os.Environ(), append([]string{program(t, "iptables"), "-w", "-D"}, rule...)...)
	}
	time.Sleep(lasts)
}

// fullDisk leaves no room for the audit log, which is on a file system of its own.
var fullDisk = fault[*replica]{"its disk is full", func(t *testing.T, r *replica) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(r.disk, &s); err != nil {
		t.Error(err)
		return
	}
	used := (int64(s.Blocks) - int64(s.Bfree)) * s.Bsize
	resize := func(bytes int64) error {
		return syscall.Mount("tmpfs", r.disk, "tmpfs", syscall.MS_REMOUNT, fmt.Sprint("size=", bytes))
	}
	for i := range 5 { // it grows meanwhile
		if err := resize(used + int64(i)<<16); err == nil {
			break
		}
	}
	time.Sleep(faultTime)
	if err := resize(diskSize); err != nil {
		t.Error(err)
	}
}}

// diskSize is the size of a replica's disk, of which only what is used takes memory.
const diskSize = 2 << 30

// separateDisks gives each replica a file system for its audit log, before it starts.
func separateDisks(t *testing.T, all []*replica) {
	t.Helper()
	for _, r := range all {
		r.disk = filepath.Dir(r.audit)
		if err := os.MkdirAll(r.disk, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", r.disk, "tmpfs", 0, fmt.Sprint("size=", diskSize)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(r.disk, syscall.MNT_DETACH) }) // the namespace ends with the test
	}
}

// fail lets a link fail for a moment.
func (k *link) fail(down bool, delay time.Duration) {
	k.set(down, delay)
	time.Sleep(faultTime)
	k.set(false, 0)
}

// roll ends all replicas one after the other, and waits until each serves again, as a deployment does.
func (f *fleet) roll(*testing.T) {
	for _, r := range f.all {
		<-r.signal(syscall.SIGTERM)
		for deadline := time.Now().Add(20 * time.Second); !r.healthy.Load() && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// A chaosStore is a store that replicas share, with its faults.
type chaosStore struct {
	url    string
	faults []fault[struct{}]
	loses  bool // a failover may lose the last writes
}

// chaosStores are the stores, by name. Those of nightly are not tried on each change.
var chaosStores = []struct {
	name    string
	nightly bool
	begin   func(t *testing.T) chaosStore
}{
	{"without a store", false, func(*testing.T) chaosStore { return chaosStore{} }},
	{"SQLite", true, func(t *testing.T) chaosStore {
		return chaosStore{url: "sqlite:" + filepath.Join(t.TempDir(), "shared.db")}
	}},
	{"Valkey", false, func(t *testing.T) chaosStore {
		s := valkeyOf(t, "--appendonly", "yes", "--appendfsync", "always")
		way := newLink(t, s.address)
		return chaosStore{url: "valkey://" + way.address, faults: append(linkFaults(way, s), killed(s, syscall.SIGKILL))}
	}},
	{"PostgreSQL", true, func(t *testing.T) chaosStore {
		s, _ := runningPostgres(t)
		way := newLink(t, s.address)
		return chaosStore{url: "postgres://owner:owning@" + way.address + "/postgres?sslmode=disable", faults: append(linkFaults(way, s), killed(s, syscall.SIGQUIT))}
	}},
	{"Sentinel", true, sentinelStore},
	{"Cluster", true, clusterStore},
}

// killed kills a server with all of its processes and starts it again.
func killed(s *stateServer, with syscall.Signal) fault[struct{}] {
	return fault[struct{}]{"its store is killed", func(t *testing.T, _ struct{}) {
		s.end(t, with)
		time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
		s.start(t)
	}}
}

// linkFaults are those of the network between replicas and the server of their store.
func linkFaults(way *link, s *stateServer) []fault[struct{}] {
	all := []fault[struct{}]{
		{"its store is slow", func(*testing.T, struct{}) { way.fail(false, 300*time.Millisecond) }},
		{"its store cannot be reached", func(*testing.T, struct{}) { way.fail(true, 0) }},
	}
	if isApart() {
		all = append(all, fault[struct{}]{"packets of its store are lost", func(t *testing.T, _ struct{}) { losePackets(t, s.address, leaseTime/2) }})
	}
	return all
}

// sentinelStore is a primary with two replicas and three Sentinels.
func sentinelStore(t *testing.T) chaosStore {
	servers, sentinels := sentinelsOf(t, 2, "--appendonly", "yes")
	ask := &stateServer{address: sentinels[0]}
	primary := func(t *testing.T) *stateServer {
		named := strings.Fields(ask.ask(t, "sentinel", "get-master-addr-by-name", "main"))
		for _, s := range servers {
			if len(named) == 2 && s.address == net.JoinHostPort(named[0], named[1]) {
				return s
			}
		}
		t.Errorf("the Sentinels name %q", named)
		return servers[0]
	}
	return chaosStore{url: "redis://" + strings.Join(sentinels, ",") + "?sentinel=main", loses: true, faults: []fault[struct{}]{
		{"its primary is killed", func(t *testing.T, _ struct{}) {
			lost := primary(t)
			lost.end(t, syscall.SIGKILL)
			next := lost
			for deadline := time.Now().Add(20 * time.Second); next == lost && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
				next = primary(t)
			}
			host, port, err := net.SplitHostPort(next.address)
			if err != nil {
				t.Fatal(err)
			}
			if i := slices.Index(lost.argv, "--replicaof"); i >= 0 { // the last
				lost.argv = lost.argv[:i]
			}
			if next != lost {
				lost.argv = append(lost.argv, "--replicaof", host+" "+port)
			}
			lost.start(t)
			time.Sleep(faultTime) // a failover needs a copy
		}},
		{"its primary changes", func(t *testing.T, _ struct{}) {
			// The Sentinels refuse while another failover goes on.
			_, _, _ = tryRun(t, os.Environ(), program(t, "redis-cli"), "-p", portOf(t, sentinels[0]), "sentinel", "failover", "main")
			time.Sleep(faultTime)
		}},
		{"its primary is slow", func(t *testing.T, _ struct{}) {
			_, _, _ = tryRun(t, os.Environ(), program(t, "redis-cli"), "-p", portOf(t, primary(t).address), "client", "pause", "1500", "all")
			time.Sleep(faultTime)
		}},
	}}
}

// clusterStore is a Cluster of three parts, the first of which has a copy.
func clusterStore(t *testing.T) chaosStore {
	servers, url := valkeyCluster(t, 1)
	pair := []*stateServer{servers[0], servers[3]}
	return chaosStore{url: url, loses: true, faults: []fault[struct{}]{
		{"a primary of its store is killed", func(t *testing.T, _ struct{}) {
			lost, other := pair[0], pair[1]
			if strings.Contains(other.ask(t, "role"), "master") {
				lost, other = other, lost
			}
			lost.end(t, syscall.SIGKILL)
			for deadline := time.Now().Add(20 * time.Second); !strings.Contains(other.ask(t, "role"), "master") && time.Now().Before(deadline); {
				time.Sleep(100 * time.Millisecond)
			}
			lost.start(t)
			time.Sleep(faultTime)
		}},
		{"a part of its store moves", func(t *testing.T, _ struct{}) {
			groups := []string{"tasks", "limits", "replicas", ""}
			moveSlot(t, servers[1:3], servers[1].ask(t, "cluster", "keyslot", "{junction/"+groups[rand.IntN(len(groups))]+"}"))
		}},
	}}
}

// apartVariable is set in a test that runs in namespaces of its own.
const apartVariable = "JUNCTION_CHAOS_APART"

// isApart reports whether this process has a network and mounts of its own.
func isApart() bool { return os.Getenv(apartVariable) != "" }

// apart runs a test again in a process with a network and mounts of its own, where the system allows
// that, and reports whether it did. A full disk and a network that loses packets are for such tests.
func apart(t *testing.T, lasts time.Duration) bool {
	t.Helper()
	if isApart() {
		return false
	}
	argv := []string{"unshare", "--net", "--mount", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if _, _, err := tryRun(t, nil, append(argv[:len(argv):len(argv)], program(t, "iptables"), "-w", "-S")...); err != nil {
		t.Logf("without full disks and networks that lose packets, which need namespaces and packet filters: %v", err)
		return false
	}
	argv = append(argv, os.Args[0], "-test.v", "-test.timeout", fmt.Sprint(lasts+10*time.Minute), "-test.run", "^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	command := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	inGroup(command)
	command.Env = append(os.Environ(), apartVariable+"=1", "JUNCTION_BIN="+junction(t))
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	err := command.Run()
	if said := out.String(); err != nil || !strings.Contains(said, "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, said)
	} else {
		t.Log(said)
	}
	return true
}
