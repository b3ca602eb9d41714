package integration

import (
	"os"
	"path/filepath"
	"testing"
)

// A deployment is a way to serve clients with junction up.
type deployment struct {
	name     string
	nightly  bool // not on each change
	replicas int
	hasStore bool
	store    func(t testing.TB) (url string)
}

// deployments are one process, and three replicas behind a balancer that never chooses the same one
// twice in a row.
var deployments = []deployment{
	{name: "one", replicas: 1},
	{name: "three", replicas: 3},
	{"three with Valkey", true, 3, true, func(t testing.TB) string { return "valkey://" + valkeyOf(t).address }},
	{"three with PostgreSQL", true, 3, true, func(t testing.TB) string {
		s, _ := runningPostgres(t)
		return "postgres://owner:owning@" + s.address + "/postgres?sslmode=disable"
	}},
}

// through runs a test as a subtest for each deployment.
func through(t *testing.T, test func(t *testing.T, d deployment)) {
	t.Helper()
	for _, d := range deployments {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			if d.nightly {
				skipOnChange(t)
			}
			test(t, d)
		})
	}
}

// hasReplicas reports whether requests of a client reach several processes.
func (d deployment) hasReplicas() bool { return d.replicas > 1 }

// serve starts the deployment, and returns its origin and its configuration file. settings are the
// members of the object junction.
func (d deployment) serve(t testing.TB, settings, servers object) (origin, config string) {
	t.Helper()
	if d.hasStore {
		settings["state"] = object{"url": d.store(t)}
	}
	if d.hasReplicas() {
		f := newFleet(t, d.replicas, settings, servers)
		return f.origin, f.config
	}
	config = writeConfig(t, t.TempDir(), settings, servers)
	address := freeAddress(t)
	serving(t, isolated(t), address, junction(t), "up", "--config", config, "--http", address)
	return "http://" + address, config
}

// writeConfig writes a configuration file into a folder.
func writeConfig(t testing.TB, dir string, settings, servers object) (path string) {
	t.Helper()
	path = filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(path, []byte(encode(t, object{"junction": settings, "mcpServers": servers})), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
