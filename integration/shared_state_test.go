package integration

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestReplicasShareStores runs the tests of replicas that share a store on servers, each test with one of its own.
func TestReplicasShareStores(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) string{
		"Valkey": func(t *testing.T) string { return "valkey://" + valkeyOf(t).address },
		"Redis":  func(t *testing.T) string { return "redis://" + redisOf(t).address },
		"PostgreSQL": func(t *testing.T) string {
			address, _ := postgresOf(t, "")
			return "postgres://owner:owning@" + address + "/postgres?sslmode=disable"
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, test := range []string{"TestReplicasShareAStore", "TestReplicasShareLimits", "TestReplicasShareApprovals", "TestReplicasWithoutTheirStore", "TestLoginsOutliveStateKeys"} {
				t.Run(test, func(t *testing.T) {
					command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^"+test+"$", "-v", "./cmd/junction")
					inGroup(command)
					command.Dir = ".."
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
