package hostconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// killAt makes TestAProcessThatIsKilled a process that kills itself at that step, and tells it the
// action before.
const killAt = "JUNCTION_TEST_KILL_AT"

// TestAProcessThatIsKilled is a killed process only if another test starts it.
func TestAProcessThatIsKilled(t *testing.T) {
	var step int
	var what, folder, path string
	if _, err := fmt.Sscanf(os.Getenv(killAt), "%d %s %s %s", &step, &what, &folder, &path); err != nil {
		t.Skip("no other test started it")
	}
	j := Journal{Folder: folder, step: func() {
		if step--; step == 0 {
			p, _ := os.FindProcess(os.Getpid()) // it exists
			_ = p.Kill()
			select {}
		}
	}}
	var err error
	if what == "connect" {
		err = connectFile(j, path)
	} else {
		err = disconnectFile(j)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func connectFile(j Journal, path string) error {
	h, _, _ := LookupHost("cursor")
	d, err := Read(h, path)
	if errors.Is(err, fs.ErrNotExist) {
		d, err = Missing(h, path)
	}
	if err != nil {
		return err
	}
	after, change, err := d.Connect(&upStdio, d.Entries)
	if err != nil {
		return err
	}
	_, _, err = j.Apply(d, after, Record{Host: h.ID, Kept: true, Connected: true, Changes: []Change{change}})
	return err
}

func disconnectFile(j Journal) error {
	records, err := j.Records()
	if err != nil || len(records) != 1 {
		return fmt.Errorf("%v, %w", records, err)
	}
	_, err = j.Restore(records[0])
	return err
}

// contentOrNone returns the content of a file, or "none".
func contentOrNone(t *testing.T, path string) string {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "none"
	}
	return content(t, path)
}

func TestKilledWritesLeaveTheOldOrTheNewFile(t *testing.T) {
	const connected = `{"mcpServers": {"junction": {"command": "/opt/junction", "args": ["up", "--stdio"]}}}`
	created := "{\n  \"mcpServers\": {\n    \"junction\": {\n      \"command\": \"/opt/junction\",\n      \"args\": [\"up\", \"--stdio\"]\n    }\n  }\n}\n"
	touched := strings.Replace(connected, "{", `{"z": 1, `, 1)
	for _, test := range []struct{ name, what, before, meanwhile, new, old string }{
		{"connect", "connect", cursorFile, "", connected, cursorFile},
		{"connect a file that is not there", "connect", "none", "", created, "none"},
		{"disconnect", "disconnect", cursorFile, "", cursorFile, connected},
		{"disconnect a file that was not there", "disconnect", "none", "", "none", created},
		{"disconnect a file that somebody changed", "disconnect", cursorFile, touched, `{"z": 1, "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}`, touched},
	} {
		t.Run(test.name, func(t *testing.T) {
			kills := 0
			for step := 1; ; step++ {
				folder := t.TempDir()
				path := filepath.Join(folder, "host", "mcp.json")
				j := Journal{Folder: filepath.Join(folder, "taps")}
				if test.before != "none" {
					write(t, path, test.before)
				}
				if test.what == "disconnect" {
					if err := connectFile(j, path); err != nil {
						t.Fatal(err)
					}
				}
				if test.meanwhile != "" {
					write(t, path, test.meanwhile)
				}
				cmd := exec.Command(os.Args[0], "-test.run=^TestAProcessThatIsKilled$")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s %s %s", killAt, step, test.what, j.Folder, path))
				out, err := cmd.CombinedOutput()
				now := contentOrNone(t, path)
				if err == nil {
					if now != test.new {
						t.Errorf("it holds %s", now)
					}
					break
				}
				if kills++; strings.Contains(string(out), "FAIL") {
					t.Fatalf("step %d: %s", step, out)
				}
				if now != test.old && now != test.new {
					t.Fatalf("step %d leaves %s", step, now)
				}
				// The next process continues from there, and finally everything is as before.
				if _, err := j.Recover(); err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				records, err := j.Records()
				if err != nil {
					t.Fatalf("step %d: %v", step, err)
				}
				if len(records) == 0 && test.what == "connect" {
					if now := contentOrNone(t, path); now != test.before {
						t.Fatalf("step %d: nothing is connected, and it holds %s", step, now)
					}
					if err := connectFile(j, path); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
				}
				if records, _ = j.Records(); len(records) > 0 {
					if err := disconnectFile(j); err != nil {
						t.Fatalf("step %d: %v", step, err)
					}
				}
				want := test.before
				if test.meanwhile != "" {
					want = test.new
				}
				if now := contentOrNone(t, path); now != want {
					t.Fatalf("step %d: in the end it holds %s", step, now)
				}
				if left, _ := filepath.Glob(filepath.Join(folder, "host", ".*")); len(left) > 0 {
					t.Errorf("step %d leaves %v", step, left)
				}
			}
			if kills < 2 {
				t.Errorf("it was killed only %d times", kills)
			}
		})
	}
}
