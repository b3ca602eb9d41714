package main

import (
	"bufio"
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

// count returns the number of commands that clients have sent. Those that scripts run are not part
// of it.
func (c *commands) count() (n int, err error) {
	if c == nil {
		return 0, nil
	}
	conn, err := net.DialTimeout("tcp", c.address, 5*time.Second)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := conn.Write([]byte("INFO commandstats\r\nQUIT\r\n")); err != nil {
		return 0, err
	}
	for in := bufio.NewScanner(conn); in.Scan() && in.Text() != "+OK"; {
		name, figures, found := strings.Cut(in.Text(), ":calls=")
		switch name { // what clients send
		case "cmdstat_eval", "cmdstat_evalsha", "cmdstat_publish":
		default:
			continue
		}
		text, _, _ := strings.Cut(figures, ",")
		calls, err := strconv.Atoi(text)
		if err != nil || !found {
			return 0, fmt.Errorf("the statistics of the store: %q", in.Text())
		}
		n += calls
	}
	return n, nil
}

// rate returns the commands in a second while nothing calls.
func (c *commands) rate(during time.Duration) (float64, error) {
	if c == nil {
		return 0, nil
	}
	before, err := c.count()
	if err != nil {
		return 0, err
	}
	time.Sleep(during)
	after, err := c.count()
	return float64(after-before) / during.Seconds(), err
}
