package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A process is a program on loopback.
type process struct {
	command *exec.Cmd
	address string
	admin   string // of a replica
	output  bytes.Buffer
	stdin   interface{ Close() error } // of the server, which ends with it
}

// cpu returns the CPU time that the process has used.
func (p *process) cpu() (time.Duration, error) {
	var t unix.Timespec
	clock := int32(^p.command.Process.Pid)<<3 | 2 // as clock_getcpuclockid computes it
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("the CPU time of %s: %w", p.command.Path, err)
	}
	return time.Duration(t.Nano()), nil
}

// sleep waits, or returns an error if ctx is done before.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (p *process) end() {
	if p.stdin != nil {
		p.stdin.Close()
	}
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.AfterFunc(20*time.Second, func() { _ = p.command.Process.Kill() })
	defer late.Stop()
	_ = p.command.Wait()
}

// freeAddress returns an address on which nothing listens, and whose port the system gives to no
// connection.
func freeAddress() (string, error) {
	for range 100 {
		address := fmt.Sprint("127.0.0.1:", 20_000+rand.IntN(10_000))
		l, err := net.Listen("tcp", address)
		if err == nil {
			return address, l.Close()
		}
	}
	return "", errors.New("no port of loopback is free")
}

// A world has the deployments and the server behind them.
type world struct {
	*options
	dir         string
	upstream    *process
	deployments []*deployment
	groups      []string // folders of cgroups
	environment []string // of replicas
	store       *commands
}

// A deployment is a number of replicas with one configuration.
type deployment struct {
	name, kind string // the kind is the name without the number of replicas
	replicas   []*process
	sealed     bool
	sessions   []string // ids, opened at the first measurement
}

func newWorld(o *options) (w *world, err error) {
	w = &world{options: o}
	if w.dir, err = os.MkdirTemp("", "scale-"); err != nil {
		return nil, err
	}
	if w.store, err = commandsOf(o.state); err != nil {
		return nil, err
	}
	up := &process{}
	if up.address, err = freeAddress(); err != nil {
		return nil, err
	}
	up.command = exec.Command(o.server, "-mode", "modern", "-addr", up.address)
	up.command.Stderr = &up.output
	stdin, err := up.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	up.stdin = stdin
	if err := up.command.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	w.upstream = up
	return w, nil
}

// close ends all processes.
func (w *world) close() error {
	for _, d := range w.deployments {
		for _, p := range d.replicas {
			p.end()
		}
	}
	w.upstream.end()
	var all []error
	for _, group := range w.groups {
		all = append(all, os.Remove(group))
	}
	return errors.Join(append(all, os.RemoveAll(w.dir))...)
}

// deploy starts replicas of a binary, and waits until they are ready.
func (w *world) deploy(ctx context.Context, binary string, replicas int, sealed bool) (*deployment, error) {
	d := &deployment{kind: filepath.Base(binary) + " memory", sealed: sealed}
	settings := map[string]any{"tools": "all"}
	if err := json.Unmarshal([]byte(w.settings), &settings); err != nil {
		return nil, fmt.Errorf("-settings: %w", err)
	}
	var addresses, origins []string
	for range replicas {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		addresses, origins = append(addresses, address), append(origins, "http://"+address)
	}
	if sealed {
		settings["peers"] = origins
		d.kind = filepath.Base(binary) + " sealed"
		settings["stateKeys"] = []string{strings.Repeat("0123456789abcdef", 4)}
		if w.state != "" {
			d.kind += " store"
			settings["state"] = map[string]any{"url": w.state}
		}
	}
	d.name = d.kind
	w.deployments = append(w.deployments, d)
	config, err := json.Marshal(map[string]any{
		"mcpServers": map[string]any{"up": map[string]any{"url": "http://" + w.upstream.address + "/mcp"}},
		"junction":   settings,
	})
	if err != nil {
		return nil, err
	}
	for i, address := range addresses {
		home := filepath.Join(w.dir, fmt.Sprint(len(w.deployments), "-", i))
		if err := os.Mkdir(home, 0o700); err != nil {
			return nil, err
		}
		file := filepath.Join(home, "mcp.json")
		if err := os.WriteFile(file, config, 0o600); err != nil {
			return nil, err
		}
		p, err := startReplica(binary, address, home, file, w.environment...)
		if err != nil {
			return nil, err
		}
		d.replicas = append(d.replicas, p)
	}
	for i, p := range d.replicas {
		if err := p.ready(ctx); err != nil {
			return nil, err
		}
		if w.core > 0 {
			if err := w.limit(p, fmt.Sprintf("junction-scale-%d-%d-%d", os.Getpid(), len(w.deployments), i)); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

func startReplica(binary, address, home, file string, environment ...string) (p *process, err error) {
	p = &process{address: address}
	if p.admin, err = freeAddress(); err != nil {
		return nil, err
	}
	p.command = exec.Command(binary, "up", "--config", file, "--http", p.address, "--admin", p.admin, "--drain-delay", "0s")
	p.command.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, environment...)
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("start a replica: %w", err)
	}
	return p, nil
}

// ready waits until the replica serves.
func (p *process) ready(ctx context.Context) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		response, err := http.Get("http://" + p.admin + "/readyz")
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(response.Status)
		}
		if sleep(ctx, 50*time.Millisecond) != nil || time.Now().After(deadline) {
			return fmt.Errorf("a replica is not ready: %w\n%.2000s", err, p.output.String())
		}
	}
}

const cgroups = "/sys/fs/cgroup"

// limit lets a process use the part of a core that the flag sets, by a group of cgroups of version 2
// or 1.
func (w *world) limit(p *process, name string) error {
	const period = 20_000 // microseconds
	quota := max(int(w.core*period), 1000)
	folder, file, value := filepath.Join(cgroups, name), "cpu.max", fmt.Sprint(quota, " ", period)
	if _, err := os.Stat(filepath.Join(cgroups, "cgroup.controllers")); err != nil {
		folder, file, value = filepath.Join(cgroups, "cpu", name), "cpu.cfs_quota_us", strconv.Itoa(quota)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		return fmt.Errorf("-core needs root and cgroups: %w", err)
	}
	w.groups = append(w.groups, folder)
	if file == "cpu.cfs_quota_us" {
		if err := os.WriteFile(filepath.Join(folder, "cpu.cfs_period_us"), []byte(strconv.Itoa(period)), 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(folder, file), []byte(value), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(p.command.Process.Pid)), 0o600)
}
