package main

import (
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/fields/fieldstest"
)

var update = flag.Bool("update", false, "write the tables of the page")

func TestThePageHasTheTablesOfTheModel(t *testing.T) {
	const page = "../scale.md"
	fieldstest.Page(t, page, deploymentHeader, measured.deploymentRows(), *update)
	fieldstest.Page(t, page, limitHeader, measured.limitRows(), *update)
	fieldstest.Page(t, page, costHeader, measured.rows(), *update)
}

func TestThePageHasTheOutputOfTheCommand(t *testing.T) {
	var b strings.Builder
	b.WriteString("$ go run ./docs/scale -replicas 30 -sessions 300000 -pause 30s -core 0.5\n")
	if err := write(&b, common(30, 300_000)); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../scale.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```text\n"+b.String()+"```\n") {
		t.Errorf("../scale.md does not have this example:\n%s", b.String())
	}
}

const (
	deploymentHeader = "| replicas | sessions | calls/s | CPU of a replica | MB of a replica | connections to Valkey | CPU of Valkey | with limits of users | of PostgreSQL | GB of audit log a day |"
	limitHeader      = "| gives way | replicas with 1,000 sessions each | with 10,000 | then | do |"
	costHeader       = "| cost | value | measured with |"
)

// The model gives what was measured for the loads that were measured.
func TestTheModelFitsTheMeasurements(t *testing.T) {
	for _, m := range []struct {
		name           string
		got, want, off float64
	}{
		{"operations of a limit for a call: 20 users with 5 calls/s each, 1 replica", 2 * measured.counted(load{Replicas: 1, Pause: 1 / 5.0, Rate: 60}), 0.27, 0.1},
		{"the same, 4 replicas", 2 * measured.counted(load{Replicas: 4, Pause: 1 / 5.0, Rate: 60}), 1.61, 0.2},
		{"the same, 16 replicas", 2 * measured.counted(load{Replicas: 16, Pause: 1 / 5.0, Rate: 60}), 3.75, 0.6},
		{"200 users with a call each two seconds, 1 replica", 2 * measured.counted(load{Replicas: 1, Pause: 2, Rate: 60}), 2.81, 0.3},
		{"the same, 4 replicas", 2 * measured.counted(load{Replicas: 4, Pause: 2, Rate: 60}), 3.74, 0.4},
		{"the same, 16 replicas", 2 * measured.counted(load{Replicas: 16, Pause: 2, Rate: 60}), 4.11, 0.4},
		{"the same, 64 replicas", 2 * measured.counted(load{Replicas: 64, Pause: 2, Rate: 60}), 2.33, 0.2},
		{"CPU of a message to 8 replicas in µs", measured.Passed * 8, 1158, 120},
		{"MB of 4,000 streams", measured.memory(load{Replicas: 1, Sessions: 4000, Streams: 1}) - measured.Resident - measured.Session, 192, 10},
		{"CPU of a Valkey for 16 replicas in ms", 1e3 * measured.keyCores(load{Replicas: 16, Pause: 1}, false), 2.74, 0.5},
	} {
		if math.Abs(m.got-m.want) > m.off {
			t.Errorf("%s: got %.2f, measured %.2f", m.name, m.got, m.want)
		}
	}
}

// More of anything never needs less.
func TestTheModelGrows(t *testing.T) {
	for _, k := range measured.limits() {
		last := 0.0
		for _, n := range []int{1, 2, 10, 100, 1_000, 10_000} {
			now := k.use(common(10, 1_000*n))
			if now < last {
				t.Errorf("%s: %v with %d sessions, %v with fewer", k.resource, now, 1_000*n, last)
			}
			last = now
		}
	}
}
