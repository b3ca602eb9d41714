package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReplicasShareStores runs the tests of replicas that share a store on servers, each test with one of its own.
func TestReplicasShareStores(t *testing.T) {
	t.Parallel()
	tests := filepath.Join(t.TempDir(), "junction.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", tests, "./cmd/junction")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, server := range map[string]func(t *testing.T) string{
		"Valkey": func(t *testing.T) string { return "valkey://" + valkeyOf(t).address },
		"Redis": func(t *testing.T) string {
			skipOnChange(t)
			return "redis://" + redisOf(t).address
		},
		"PostgreSQL": func(t *testing.T) string {
			address, _ := postgresOf(t, "")
			return "postgres://owner:owning@" + address + "/postgres?sslmode=disable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, test := range []string{"TestReplicasShareAStore", "TestReplicasShareLimits", "TestReplicasShareApprovals", "TestReplicasShareCallsThatWait", "TestReplicasShareConcurrency", "TestReplicasWitnessTheirLogs", "TestReplicasWithoutTheirStore", "TestLoginsOutliveStateKeys", "TestStreamsOutliveTheirReplica", "TestLongResultsOutliveTheirReplica", "TestLegacyTasksOutliveTheirReplica"} {
				t.Run(test, func(t *testing.T) {
					command := exec.CommandContext(t.Context(), tests, "-test.run=^"+test+"$", "-test.v")
					inGroup(command)
					command.Dir = filepath.Join("..", "cmd", "junction")
					command.Env = append(os.Environ(), "JUNCTION_TEST_STATE="+server(t))
					out, err := command.CombinedOutput()
					if err != nil || !strings.Contains(string(out), "--- PASS: "+test+" ") {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		})
	}
}
