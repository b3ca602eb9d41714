package main

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Costs are the parameters of the model. The tags are the columns of their table in docs/scale.md.
type costs struct {
	Call      float64 `is:"CPU of a call" unit:"µs" by:"1, 2 and 4 replicas of 0.1 core each"`
	Linear    float64 `is:"throughput of replicas, divided by that of one times their number" unit:"" by:"the same, legacy calls at 4 replicas"`
	Sealed    float64 `is:"CPU of a legacy call with a sealed session, divided by that with one in memory" unit:"" by:"one replica, 2,000 sessions in turn"`
	Audit     float64 `is:"a line of the audit log" unit:"bytes" by:"144,533 calls of a tool with 65 bytes of arguments"`
	Resident  float64 `is:"memory of an idle replica" unit:"MB" by:"16 replicas"`
	Session   float64 `is:"memory of all idle sealed sessions without a stream" unit:"MB" by:"100,000 sessions at one replica"`
	Stream    float64 `is:"memory of an open stream of notifications" unit:"kB" by:"4,000 streams at one replica"`
	Passed    float64 `is:"CPU of a message that all replicas get, at each of them" unit:"µs" by:"1, 2, 4 and 8 replicas"`
	Idle      float64 `is:"commands of an idle replica to Valkey" unit:"a second" by:"1, 2, 4, 8 and 16 replicas"`
	KeyIdle   float64 `is:"CPU of Valkey for an idle replica" unit:"ms a second" by:"1, 4 and 16 replicas"`
	KeyRead   float64 `is:"CPU of Valkey for a read" unit:"µs" by:"8,000 reads"`
	KeyWrite  float64 `is:"CPU of Valkey for a write" unit:"µs" by:"8,000 writes"`
	KeyConns  float64 `is:"connections of a replica to Valkey" unit:"" by:"16 replicas"`
	RowIdle   float64 `is:"CPU of PostgreSQL for an idle replica" unit:"ms a second" by:"1, 4 and 16 replicas"`
	RowRead   float64 `is:"CPU of PostgreSQL for a read" unit:"µs" by:"3,000 reads"`
	RowWrite  float64 `is:"CPU of PostgreSQL for a write" unit:"µs" by:"3,000 writes"`
	RowConns  float64 `is:"connections of an idle replica to PostgreSQL" unit:"" by:"16 replicas"`
	RowMost   float64 `is:"connections of a busy replica to PostgreSQL" unit:"" by:"the limit of its pool, and one for hints"`
	Exchange  float64 `is:"reads, and as many writes, of a user's limit of rate for a call, if their calls at a replica are rare" unit:"" by:"20 and 200 users, 1, 4 and 16 replicas"`
	OnePart   float64 `is:"the same, if each replica's part of the limit is less than two calls" unit:"" by:"200 users, 64 replicas"`
	Reads     float64 `is:"reads of a login for a call, if the user's calls at a replica are rare" unit:"" by:"the code: a grant and a login, for 10 seconds"`
	KeyBytes  float64 `is:"a key in the list of keys" unit:"bytes" by:"junction key create"`
	Addresses float64 `is:"an address in an answer of the DNS" unit:"bytes" by:"the format of the DNS"`
}

// measured are the costs as they were measured, with two cores of a virtual machine.
var measured = costs{
	Call: 68, Linear: 0.91, Sealed: 1.06, Audit: 451, Resident: 58, Session: 0.7, Stream: 48, Passed: 145,
	Idle: 3.1, KeyIdle: 0.18, KeyRead: 2.5, KeyWrite: 16.3, KeyConns: 3,
	RowIdle: 0.5, RowRead: 16.7, RowWrite: 263, RowConns: 3, RowMost: 11,
	Exchange: 2, OnePart: 1, Reads: 2, KeyBytes: 171, Addresses: 16,
}

// rows returns the table of the costs.
func (c costs) rows() string {
	var b strings.Builder
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		fmt.Fprintf(&b, "| %s | %s | %s |\n", tag.Get("is"), strings.TrimSpace(fmt.Sprint(v.Field(i).Float(), " ", tag.Get("unit"))), tag.Get("by"))
	}
	return b.String()
}

// A load is a deployment and its use.
type load struct {
	Replicas int
	Sessions int     // of users of their own
	Pause    float64 // seconds between two calls of a session
	Core     float64 // cores of a replica
	Streams  float64 // sessions with an open stream, as a part of all
	Passed   float64 // messages for all replicas, for a call
	Keys     int     // elements in the list of keys
	Rate     int     // calls at once that the limit of a user allows
}

// common is the load of the tables, apart from its replicas and sessions.
func common(replicas, sessions int) load {
	return load{Replicas: replicas, Sessions: sessions, Pause: 30, Core: 0.5, Streams: 1, Passed: 0.001, Keys: 1000, Rate: 60}
}

// calls returns the calls in a second at all replicas.
func (l load) calls() float64 { return float64(l.Sessions) / l.Pause }

// at returns the calls of a user in a second that reach one replica.
func (l load) at() float64 { return 1 / l.Pause / float64(l.Replicas) }

// The limits of the model, in addition to those in docs/limits.md.
const (
	maxPeers    = 100     // other replicas
	maxCounted  = 1_000   // replicas that limits are divided among
	maxStreams  = 100_000 // of a replica
	keyClients  = 10_000  // connections to a Valkey, by default
	rowClients  = 97      // connections to a PostgreSQL, by default, without those of administrators
	rowCores    = 4       // cores of PostgreSQL
	maxAnswer   = 65_535  // bytes of an answer of the DNS
	networkRate = 125e6   // bytes a second of the network of the store
	changeTime  = 2       // seconds in which all replicas read a changed list
	memoryBytes = 16e9    // of the machine of a replica
)

// processors returns the cores that all replicas use.
func (c costs) processors(l load) float64 {
	passed := 0.0
	if l.Replicas > 1 {
		passed = l.Passed * c.Passed * math.Min(float64(l.Replicas), maxPeers+1)
	}
	return l.calls() * (c.Call + passed) / 1e6 / c.Linear
}

// memory returns the megabytes that a replica uses.
func (c costs) memory(l load) float64 {
	return c.Resident + c.Session + float64(l.Sessions)*l.Streams/float64(l.Replicas)*c.Stream/1e3
}

// counted returns how many times a call exchanges the count of a user's limit with the store. A user
// whose calls at a replica are less than a second apart needs fewer.
func (c costs) counted(l load) float64 {
	each := c.Exchange
	if l.Rate < 2*l.Replicas {
		each = c.OnePart
	}
	return each*math.Exp(-l.at()) + 0.15
}

// read returns the reads of the login of a user for a call. A replica remembers it for 10 seconds.
func (c costs) read(l load) float64 { return c.Reads * math.Exp(-10*l.at()) }

// keyCores returns the cores of a Valkey that a load needs, with limits of users or without.
func (c costs) keyCores(l load, limits bool) float64 {
	call := c.read(l) * c.KeyRead
	if limits {
		call += c.counted(l) * (c.KeyRead + c.KeyWrite)
	}
	return float64(l.Replicas)*c.KeyIdle/1e3 + l.calls()*call/1e6
}

// rowCores returns the same of a PostgreSQL.
func (c costs) rowCores(l load, limits bool) float64 {
	call := c.read(l) * c.RowRead
	if limits {
		call += c.counted(l) * (c.RowRead + c.RowWrite)
	}
	return float64(l.Replicas)*c.RowIdle/1e3 + l.calls()*call/1e6
}

// A limited is something that gives way when its use reaches 1.
type limited struct {
	resource, then, remedy string
	use                    func(l load) float64
}

// limits returns everything that gives way.
func (c costs) limits() []limited {
	n := func(l load) float64 { return float64(l.Replicas) }
	return []limited{
		{"CPU of the replicas", "calls wait", "more replicas, or more cores for each", func(l load) float64 { return c.processors(l) / n(l) / l.Core }},
		{"open streams of a replica (100,000)", "further streams get 503", "more replicas; `MaxStreams`", func(l load) float64 { return float64(l.Sessions) * l.Streams / n(l) / maxStreams }},
		{"memory of a replica (16 GB)", "the system ends the replica", "more replicas", func(l load) float64 { return c.memory(l) * 1e6 / memoryBytes }},
		{"connections of busy replicas to PostgreSQL (`max_connections` 100)", "replicas do as while the store is away", "raise it to 11 for each replica, or PgBouncer", func(l load) float64 { return n(l) * c.RowMost / rowClients }},
		{"connections of idle replicas to PostgreSQL (`max_connections` 100)", "new replicas do not start", "the same", func(l load) float64 { return n(l) * c.RowConns / rowClients }},
		{"peers (100 others)", "answers and messages for the replicas beyond are lost", "gateways of up to 100 replicas each, with names of their own", func(l load) float64 { return n(l) / (maxPeers + 1) }},
		{"CPU of PostgreSQL (4 cores) with limits of users", "calls wait up to a second, then each replica counts alone", "Valkey; limits of servers and tools in place of users", func(l load) float64 { return c.rowCores(l, true) / rowCores }},
		{"CPU of PostgreSQL (4 cores) without them", "logins and changes get slow", "more cores", func(l load) float64 { return c.rowCores(l, false) / rowCores }},
		{"CPU of Valkey (1 core) with limits of users", "calls wait up to a second, then each replica counts alone", "limits of servers and tools in place of users; gateways with stores of their own", func(l load) float64 { return c.keyCores(l, true) }},
		{"CPU of Valkey (1 core) without them", "logins and changes get slow", "gateways with stores of their own", func(l load) float64 { return c.keyCores(l, false) }},
		{"network of the store (1 Gbit/s) when one of 1,000 keys changes", "changes hold later than after 2 s", "gateways with stores of their own", func(l load) float64 { return n(l) * float64(l.Keys) * c.KeyBytes / changeTime / networkRate }},
		{"replicas that are counted (1,000)", "limits allow more than they should", "gateways of their own", func(l load) float64 { return n(l) / maxCounted }},
		{"connections to Valkey (`maxclients` 10,000)", "new replicas do not start", "raise it", func(l load) float64 { return n(l) * c.KeyConns / keyClients }},
		{"an answer of the DNS (64 KiB)", "the last addresses stay in use", "gateways of their own", func(l load) float64 { return n(l) * c.Addresses / maxAnswer }},
	}
}

// deployments are the rows of the table of deployments.
var deployments = [][2]int{{1, 1_000}, {3, 10_000}, {10, 100_000}, {30, 300_000}, {100, 1_000_000}, {1_000, 1_000_000}}

// deploymentRows returns the table of deployments.
func (c costs) deploymentRows() string {
	var b strings.Builder
	for _, d := range deployments {
		l := common(d[0], d[1])
		n := float64(l.Replicas)
		fmt.Fprintf(&b, "| %s | %s | %s | %.0f%% | %s | %s | %.1f%% | %.0f%% | %.0f%% | %s |\n", grouped(n), grouped(float64(l.Sessions)), grouped(l.calls()),
			100*c.processors(l)/n/l.Core, grouped(c.memory(l)), grouped(n*c.KeyConns), 100*c.keyCores(l, false), 100*c.keyCores(l, true), 100*c.rowCores(l, true)/rowCores,
			grouped(l.calls()*c.Audit*86_400/1e9))
	}
	return b.String()
}

// ratios are the sessions of a replica in the table of limits.
var ratios = []int{1_000, 10_000}

// reached returns the number of replicas at which a limit is reached, if each has so many sessions.
// It returns 0 if that number has nothing to do with it.
func (k limited) reached(sessions int) int {
	at := func(n int) float64 { return k.use(common(n, n*sessions)) }
	const most = 20_000
	if at(most)/at(2) < 1.5 {
		return 0
	}
	for n := 1; n <= most; n++ { // use may fall where parts of limits become small
		if at(n) >= 1 {
			return n
		}
	}
	return 0
}

// limitRows returns the table of limits, those that are reached first at the top.
func (c costs) limitRows() string {
	type row struct {
		limited
		at []int
	}
	var rows []row
	for _, k := range c.limits() {
		r := row{limited: k}
		for _, sessions := range ratios {
			r.at = append(r.at, k.reached(sessions))
		}
		if r.at[0] > 0 {
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at[0], b.at[0]) })
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.resource, grouped(float64(r.at[0])), grouped(float64(r.at[1])), r.then, r.remedy)
	}
	return b.String()
}

// grouped returns a number with commas between groups of three digits.
func grouped(f float64) string {
	text := fmt.Sprintf("%.0f", f)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
