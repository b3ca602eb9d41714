package integration

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The official suite judges the programs in ../conformance:
//
//	conformance/server -addr ADDRESS    serves every revision at http://ADDRESS/mcp
//	conformance/client URL              does what $MCP_CONFORMANCE_SCENARIO says
//
// The client is judged in two ways, because each sees what the other does not: a suite ignores the
// client's exit code, and a single scenario runs alone with a strict verdict. A scenario passes
// here with at least one SUCCESS, no FAILURE and no WARNING, and nothing SKIPPED but what
// [mayBeSkipped] names, whatever the suite itself calls passed.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{legacyNewest, modern} {
		t.Run("client at "+revision, func(t *testing.T) {
			judgeSuite(t, required(t, revision, "Client"), "client", "--command", conformanceClient(t), "--requirements", revision)
		})
	}
	t.Run("client, backward compatibility", func(t *testing.T) {
		judgeSuite(t, listed(t, "2025-03-26", "Client"), "client", "--command", conformanceClient(t), "--suite", "backcompat")
	})
}

const legacyOlder = "2025-06-18"

func TestConformanceOfEveryRevision(t *testing.T) {
	t.Parallel()
	url := conformanceServer(t) // one process and one URL for every revision
	command := conformanceClient(t)
	for _, revision := range []string{"2025-03-26", legacyOlder, legacyNewest, modern} {
		t.Run("server at "+revision, func(t *testing.T) {
			t.Parallel()
			judgeServer(t, url, revision, nil)
		})
		t.Run("client at "+revision, func(t *testing.T) {
			t.Parallel()
			judgeRevision(t, listed(t, revision, "Client"), nil, revision, "client", "--command", command, "--timeout", "15000")
		})
	}
	t.Run("grants of clients at "+legacyNewest, func(t *testing.T) { // extensions, which the suite lists for the newest revision
		t.Parallel()
		for _, scenario := range grants {
			judgeOne(t, scenario, "client", "--command", command, "--scenario", scenario, "--spec-version", legacyNewest, "--force", "--timeout", "15000")
		}
	})
}

// The suite passes through a gateway, too, and through three replicas of one: the names that it knows
// are the server's own, so the gateway adds no prefix.
func TestConformanceThroughUp(t *testing.T) {
	t.Parallel()
	junction(t)
	through(t, func(t *testing.T, d deployment) {
		origin, _ := d.serve(t, object{"names": "none"}, object{"fixtures": object{"url": conformanceServer(t)}})
		url := origin + "/mcp"
		t.Run("server at "+legacyOlder, func(t *testing.T) {
			judgeSuite(t, listed(t, legacyOlder, "Server"), "server", "--url", url, "--suite", "all", "--spec-version", legacyOlder)
		})
		for _, revision := range []string{legacyNewest, modern} {
			t.Run("server at "+revision, func(t *testing.T) {
				not := maps.Clone(notThroughUp)
				if d.hasReplicas() && !d.hasStore {
					for _, scenario := range tasksOfReplicas {
						not[scenario] = "without a store each replica has its own tasks"
					}
				}
				judgeServer(t, url, revision, not)
			})
		}
	})
}

// notThroughUp are scenarios about a server that a gateway stands in front of, and why they are not its own.
var notThroughUp = map[string]string{
	"server-sse-polling":        "when a stream is closed before its response is each server's own decision: the gateway keeps its client's open",
	"tasks-required-task-error": "the gateway waits for the task of a client that knows none, so nothing has to be refused (ext-tasks: an error is for a server that is unable to service the request)",
}

// tasksOfReplicas are the scenarios that begin a task with one request and ask for it with another.
var tasksOfReplicas = []string{
	"tasks-lifecycle", "tasks-wire-fields", "tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope", "tasks-mrtr-composition",
}

const noHandshake = "a modern client sends no initialize"

// mayBeSkipped are the checks that the suite may skip, by the beginning of id and description, and why.
var mayBeSkipped = map[string]string{
	"tasks-status-notifications": "the suite has no check: it says that its harness waits for a rewrite for subscriptions/listen; mcp/tasks tests them",
	"sep-2243-client-includes-standard-headers: Client sends correct Mcp-Method header on initialize request":                noHandshake,
	"sep-2243-client-includes-standard-headers: Client sends correct Mcp-Method header on notifications/initialized request": noHandshake,
}

// judgeServer runs every server scenario of a revision.
func judgeServer(t *testing.T, url, revision string, not map[string]string) {
	t.Helper()
	all := listed(t, revision, "Server")
	if revision == legacyNewest || revision == modern {
		for _, scenario := range required(t, revision, "Server") {
			if !slices.Contains(all, scenario) {
				t.Errorf("%s is required, and not among what the suite lists for the revision: %q", scenario, all)
			}
		}
	}
	judgeRevision(t, all, not, revision, "server", "--url", url, "--timeout", "30000")
}

// judgeRevision runs scenarios of a revision: those of the suite in one process, and each extension, which no suite has,
// in its own. The scenarios of not are not judged; its values are the reasons.
func judgeRevision(t *testing.T, scenarios []string, not map[string]string, revision string, arguments ...string) {
	t.Helper()
	dir := t.TempDir()
	arguments = append(arguments, "--spec-version", revision)
	argv := suite(t, append(slices.Clone(arguments), "--suite", "all", "-o", dir)...)
	if arguments[0] == "client" {
		argv = alone(t, argv)
	}
	stdout, stderr, err := tryRun(t, nodeEnv(t), argv...)
	verdicts := readVerdicts(t, dir)
	for _, scenario := range scenarios {
		verdict, judged := verdicts[scenario]
		switch {
		case not[scenario] != "":
			t.Logf("%s: %s", scenario, not[scenario])
		case judged:
			t.Run(scenario, func(t *testing.T) {
				if !report(t, scenario, verdict) {
					t.Logf("the suite ended with %v; stderr: %.2000s\nend of stdout: %s", err, stderr, stdout[max(0, len(stdout)-3000):])
				}
			})
		default:
			judgeOne(t, scenario, append(slices.Clone(arguments), "--scenario", scenario, "--force")...)
		}
	}
}

// grants are how a client gets tokens beyond a user's login: scenarios of extensions, which no requirement set has.
var grants = []string{
	"auth/client-credentials-jwt", "auth/client-credentials-basic", "auth/enterprise-managed-authorization",
	"auth/dpop", "auth/dpop-nonce", "auth/wif-jwt-bearer",
}

func conformanceServer(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat("../conformance/server"); err != nil {
		t.Skip("skip: conformance/server is not there")
	}
	address := freeAddress(t)
	serving(t, isolated(t), address, goProgram(t, "..", "./conformance/server"), "-addr", address)
	return "http://" + address + "/mcp"
}

// conformanceClient is run by a shell; with exec, a timeout reaches the client itself.
func conformanceClient(t testing.TB) string {
	t.Helper()
	if _, err := os.Stat("../conformance/client"); err != nil {
		t.Skip("skip: conformance/client is not there")
	}
	return "exec " + goProgram(t, "..", "./conformance/client")
}

func suite(t testing.TB, arguments ...string) []string {
	t.Helper()
	index := npm(t, "conformance", "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	return append([]string{node(t), index}, arguments...)
}

// alone runs a command where there is no network but a loopback of its own, if this system
// can do that: the suite's mock servers listen on every interface, and nothing that a
// client looks up may leave the machine.
func alone(t testing.TB, argv []string) []string {
	t.Helper()
	prefix := []string{"unshare", "--map-root-user", "--net", "sh", "-c", `ip link set lo up && exec "$@"`, "sh"}
	if _, _, err := tryRun(t, nil, append(slices.Clone(prefix), "true")...); err != nil {
		return argv
	}
	return append(prefix, argv...)
}

// required lists the scenarios that a revision requires of a "Server" or a "Client".
func required(t testing.TB, revision, side string) []string {
	t.Helper()
	out := run(t, nodeEnv(t), suite(t, "list", "--requirements", revision)...)
	var scenarios []string
	within := false
	for text := range strings.Lines(out) {
		text = strings.TrimSpace(text)
		if strings.HasSuffix(text, ":") {
			within = strings.HasPrefix(text, side+" scenarios")
			continue
		}
		name, found := strings.CutPrefix(text, "- ")
		if name, _, _ = strings.Cut(name, " "); found && within {
			scenarios = append(scenarios, name)
		}
	}
	if len(scenarios) < 4 {
		t.Fatalf("the suite lists %q for %s: %.1000s", scenarios, side, out)
	}
	return scenarios
}

// listed are all scenarios that the suite has for a revision of a "Server" or a "Client"; those of extensions are the
// newest revision's.
func listed(t testing.TB, revision, side string) []string {
	t.Helper()
	out := run(t, nodeEnv(t), suite(t, "list")...)
	var scenarios []string
	within := false
	for text := range strings.Lines(out) {
		text = strings.TrimSpace(text)
		if strings.HasSuffix(text, ":") {
			within = strings.HasPrefix(text, side+" scenarios")
			continue
		}
		name, revisions, found := strings.Cut(strings.TrimPrefix(text, "- "), " [")
		of := strings.Split(strings.TrimSuffix(revisions, "]"), ",")
		if found && within && (slices.Contains(of, revision) || revision == modern && slices.Contains(of, "extension")) {
			scenarios = append(scenarios, name)
		}
	}
	if len(scenarios) == 0 {
		t.Fatalf("the suite lists nothing of %s for %s: %.1000s", revision, side, out)
	}
	return scenarios
}

// verdict counts the checks of one scenario by status.
type verdict struct {
	success, failure, warning, skipped int      // skipped: without those that may be
	notes                              []string // why those may be
	details                            []string // of what did not succeed
}

func (v verdict) passed() bool {
	return (v.success > 0 || len(v.notes) > 0) && v.failure == 0 && v.warning == 0 && v.skipped == 0
}

// judgeSuite runs a whole set in one process and judges each of the scenarios.
func judgeSuite(t *testing.T, scenarios []string, arguments ...string) {
	t.Helper()
	dir := t.TempDir()
	argv := suite(t, append(arguments, "-o", dir)...)
	if arguments[0] == "client" {
		argv = alone(t, argv)
	}
	stdout, stderr, err := tryRun(t, nodeEnv(t), argv...)
	verdicts := readVerdicts(t, dir)
	passed := 0
	for _, scenario := range scenarios {
		if report(t, scenario, verdicts[scenario]) {
			passed++
		}
	}
	t.Logf("%d of %d required scenarios passed (exit: %v)", passed, len(scenarios), err)
	if t.Failed() {
		t.Logf("stderr: %.2000s\nend of stdout: %s", stderr, stdout[max(0, len(stdout)-3000):])
	}
}

// judgeOne runs one scenario alone.
func judgeOne(t *testing.T, scenario string, arguments ...string) {
	t.Helper()
	t.Run(scenario, func(t *testing.T) {
		if arguments[0] == "client" {
			t.Parallel()
		}
		dir := t.TempDir()
		argv := suite(t, append(arguments, "-o", dir)...)
		if arguments[0] == "client" {
			argv = alone(t, argv)
		}
		stdout, stderr, err := tryRun(t, nodeEnv(t), argv...)
		ok := report(t, scenario, readVerdicts(t, dir)[scenario])
		if err != nil {
			t.Errorf("the suite ended with %v", err)
		}
		if !ok || err != nil {
			t.Logf("stderr: %.2000s\nend of stdout: %s", stderr, stdout[max(0, len(stdout)-3000):])
		}
	})
}

// report fails the test for a scenario that did not pass.
func report(t *testing.T, scenario string, v verdict) bool {
	t.Helper()
	if !v.passed() {
		t.Errorf("%s: %d SUCCESS, %d FAILURE, %d WARNING, %d SKIPPED: %s", scenario, v.success, v.failure, v.warning, v.skipped, strings.Join(v.details, "; "))
	} else if len(v.notes) > 0 {
		t.Logf("%s: not all was checked: %s", scenario, strings.Join(v.notes, "; "))
	}
	return v.passed()
}

var stamp = regexp.MustCompile(`-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$`)

// readVerdicts reads what the suite wrote: [server-]SCENARIO-TIMESTAMP/checks.json, where
// a scenario may have slashes in its name.
func readVerdicts(t testing.TB, dir string) map[string]verdict {
	t.Helper()
	verdicts := map[string]verdict{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "checks.json" {
			return err
		}
		scenario, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		// One server scenario is named server-…, and its folder server-server-….
		scenario = stamp.ReplaceAllString(filepath.ToSlash(scenario), "")
		v, err := readVerdict(path)
		verdicts[scenario] = v
		if short, found := strings.CutPrefix(scenario, "server-"); found {
			verdicts[short] = v
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return verdicts
}

func readVerdict(path string) (verdict, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return verdict{}, err
	}
	var checks []struct{ ID, Description, Status, ErrorMessage string }
	if err := json.Unmarshal(raw, &checks); err != nil {
		return verdict{}, err
	}
	var v verdict
	for _, check := range checks {
		switch check.Status {
		case "SUCCESS":
			v.success++
			continue
		case "FAILURE":
			v.failure++
		case "WARNING":
			v.warning++
		case "SKIPPED":
			if reason := skips(check.ID + ": " + check.Description); reason != "" {
				if !slices.Contains(v.notes, reason) {
					v.notes = append(v.notes, reason)
				}
				continue
			}
			v.skipped++
		default: // INFO
			continue
		}
		v.details = append(v.details, check.Status+" "+check.ID+": "+check.Description+" "+check.ErrorMessage)
	}
	return v, nil
}

// skips is why a check may be skipped; empty if it may not.
func skips(check string) string {
	for start, reason := range mayBeSkipped {
		if strings.HasPrefix(check, start) {
			return reason
		}
	}
	return ""
}

// The suite runs here, and its verdicts are read right: a peer passes what it has the
// fixtures for, and fails what it has not; a client that does nothing fails.
func TestPeersConformanceSuiteIsRead(t *testing.T) {
	t.Parallel()
	url := listening(t, append(serverNamed(t, "gosdk").argv(t), "--http", "127.0.0.1:0")...)
	dir := t.TempDir()
	if _, stderr, err := tryRun(t, nodeEnv(t), suite(t, "server", "--url", url, "--requirements", legacyNewest, "-o", dir)...); err == nil {
		t.Errorf("the suite is content with a server that has no fixtures: %.1000s", stderr)
	}
	verdicts := readVerdicts(t, dir)
	scenarios := required(t, legacyNewest, "Server")
	if len(scenarios) != 30 {
		t.Errorf("%d server scenarios are required, want 30: %q", len(scenarios), scenarios)
	}
	for _, scenario := range scenarios {
		if _, found := verdicts[scenario]; !found {
			t.Errorf("no verdict on %s", scenario)
		}
	}
	for scenario, want := range map[string]bool{"server-initialize": true, "ping": true, "tools-list": true, "tools-call-image": false} {
		if verdicts[scenario].passed() != want {
			t.Errorf("%s: %+v, want passed %v", scenario, verdicts[scenario], want)
		}
	}
	idle := t.TempDir()
	_, _, err := tryRun(t, nodeEnv(t), alone(t, suite(t, "client", "--command", "exec true", "--requirements", modern, "-o", idle))...)
	if err == nil {
		t.Error("the suite is content with a client that does nothing")
	}
	for _, scenario := range required(t, modern, "Client") {
		if v := readVerdicts(t, idle)[scenario]; v.passed() {
			t.Errorf("a client that does nothing passes %s: %+v", scenario, v)
		}
	}
}
