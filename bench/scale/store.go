package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Commands counts the commands of a Valkey. A nil commands counts none.
type commands struct {
	address string
}

// commandsOf returns the counter for the URL of a store, or nil for one that is not a Valkey without
// a password on one server.
func commandsOf(store string) (*commands, error) {
	u, err := url.Parse(store)
	if err != nil {
		return nil, fmt.Errorf("-state: %w", err)
	}
	if u.Scheme != "valkey" && u.Scheme != "redis" || u.User != nil || u.Port() == "" {
		return nil, nil
	}
	return &commands{u.Host}, nil
}

// A tally is a number of commands.
type tally struct {
	sent int // by clients
	all  int // also those that scripts run
}

// count returns the number of commands so far.
func (c *commands) count() (n tally, err error) {
	if c == nil {
		return n, nil
	}
	conn, err := net.DialTimeout("tcp", c.address, 5*time.Second)
	if err != nil {
		return n, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte("INFO commandstats\r\nQUIT\r\n")); err != nil {
		return n, err
	}
	for in := bufio.NewScanner(conn); in.Scan() && in.Text() != "+OK"; {
		name, figures, found := strings.Cut(in.Text(), ":calls=")
		if !found {
			continue
		}
		text, _, _ := strings.Cut(figures, ",")
		calls, err := strconv.Atoi(text)
		if err != nil {
			return n, fmt.Errorf("the statistics of the store: %q", in.Text())
		}
		switch name {
		case "cmdstat_info", "cmdstat_quit": // of this program
			continue
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_publish", "cmdstat_ping":
			n.sent += calls
		}
		n.all += calls
	}
	return n, nil
}

// rate returns the commands in a second while nothing calls.
func (c *commands) rate(ctx context.Context, during time.Duration) (sent, all float64, err error) {
	if c == nil {
		return 0, 0, nil
	}
	before, err := c.count()
	if err != nil {
		return 0, 0, err
	}
	if err := sleep(ctx, during); err != nil {
		return 0, 0, err
	}
	after, err := c.count()
	return float64(after.sent-before.sent) / during.Seconds(), float64(after.all-before.all) / during.Seconds(), err
}

// measureQuiet prints the commands that a replica sends while nothing calls, for each number of
// replicas.
func (w *world) measureQuiet(ctx context.Context, binary string) error {
	if w.store == nil {
		return errors.New("-quiet needs -state valkey://HOST:PORT, without a password")
	}
	for _, n := range w.replicas {
		d, err := w.deploy(ctx, binary, n, true)
		if err != nil {
			return err
		}
		if err := sleep(ctx, 15*time.Second); err != nil { // signs of life of earlier replicas end
			return err
		}
		sent, all, err := w.store.rate(ctx, w.quiet)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %d idle replicas: %.2f commands a second of each, %.2f with those of scripts\n", d.name, n, sent/float64(n), all/float64(n))
		for _, p := range d.replicas {
			p.end()
		}
		d.replicas = nil
	}
	return nil
}
