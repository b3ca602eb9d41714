package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/process/processtest"
)

func TestContainersFollowTheProfile(t *testing.T) {
	always := []string{"run", "--interactive", "--rm", "--init", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"}
	limits := []string{"--pids-limit=256", "--memory=1073741824", "--memory-swap=1073741824", "--ulimit=nofile=1024", "--tmpfs=/tmp:rw,nosuid,nodev,size=268435456"}
	for _, c := range []struct {
		name      string
		l         outsourced
		by, image string
		want      []string
	}{
		{"nothing is allowed", outsourced{argv: []string{"node", "/pkg/a.js"}, profile: Profile{Read: []string{"/pkg"}}}, "docker", "node:22",
			slices.Concat([]string{"docker"}, always, limits, []string{"--network=none", "--mount=type=bind,source=/pkg,target=/pkg,readonly", "node:22", "node", "/pkg/a.js"})},
		{"all that a profile can say", outsourced{argv: []string{"server"}, dir: "/out/sub", variables: "/v", profile: Profile{Read: []string{"/in"}, Write: []string{"/out"}, Hosts: []string{"*"},
			Env: []string{"TOKEN"}, Processes: 7, Memory: 1 << 20, CPU: 1.5, Files: 9}}, "podman", "img",
			slices.Concat([]string{"podman"}, always, []string{"--pids-limit=7", "--memory=1048576", "--memory-swap=1048576", "--ulimit=nofile=9", limits[4], "--cpus=1.5",
				"--mount=type=bind,source=/in,target=/in,readonly", "--mount=type=bind,source=/out,target=/out", "--env-file=/v", "--workdir=/out/sub", "img", "server"})},
		{"a folder that is not given is no working folder", outsourced{argv: []string{"server"}, dir: "/home/u"}, "docker", "img",
			slices.Concat([]string{"docker"}, always, limits, []string{"--network=none", "img", "server"})},
		{"its own container", outsourced{argv: []string{"/usr/bin/docker", "run", "-i", "--rm", "-e", "A=1", "--env=B", "mcp/time@sha256:00", "--zone", "-e"}}, "docker", "",
			slices.Concat([]string{"docker"}, always, limits, []string{"--network=none", "--env=A=1", "mcp/time@sha256:00", "--zone", "-e"})},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := container(c.l, c.by, c.image)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}

func TestUnsupportedProfilesOfContainersAreRefused(t *testing.T) {
	for _, c := range []struct {
		l    outsourced
		want string
	}{
		{outsourced{argv: []string{"node"}}, `a container needs an image that has what node is made for: "image": "node:22-slim" in its sandbox`},
		{outsourced{argv: []string{"docker", "run", "-v", "/:/host", "img"}}, "-v is an option of the container that its sandbox does not know; remove the option, and allow folders and hosts in the sandbox"},
		{outsourced{argv: []string{"docker", "run", "--privileged", "img"}}, "--privileged is an option of the container that its sandbox does not know; remove the option, and allow folders and hosts in the sandbox"},
		{outsourced{argv: []string{"docker", "run", "--network=host", "img"}}, "--network is an option of the container that its sandbox does not know; remove the option, and allow folders and hosts in the sandbox"},
		{outsourced{argv: []string{"docker", "run", "-i"}}, "the container has no image"},
		{outsourced{argv: []string{"docker", "run", "-i", "-e"}}, "-e has no value"},
		{outsourced{argv: []string{"docker", "run", "img"}, profile: Profile{Hosts: []string{"a.example.com"}}},
			`a container reaches no host, or with "*" all: a.example.com cannot be allowed by name there; use the sandbox of the system, or allow "*"`},
		{outsourced{argv: []string{"docker", "run", "img"}, profile: Profile{Read: []string{"/a,readonly=false"}}},
			`a container cannot be given "/a,readonly=false": its path is not absolute, or has a comma or a quote in it`},
	} {
		if argv, err := container(c.l, "docker", ""); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %q, %v", c.l.argv, argv, err)
		}
	}
	if _, err := container(outsourced{argv: []string{"node"}}, "docker", "--privileged"); err == nil {
		t.Error("an option is not an image")
	}
}

// engine is a script for a program called docker that records its arguments, and then runs the
// command of "run".
const engine = `#!/bin/sh
printf '%s\n' "$*" >>"$RECORD"
for word; do
	case $word in --env-file=*)
		ls -l "${word#*=}" | cut -c1-10
		cat "${word#*=}"
	esac
done
[ "$1" = run ] && echo "it runs with $TOKEN$LD_PRELOAD$DOCKER_HOST$CONTAINERS_CONF of $OWN"
exit 0
`

func TestAContainerEngineIsStartedAndItsContainerRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the engine of the test is a shell script")
	}
	dir := t.TempDir()
	processtest.WriteProgram(t, filepath.Join(dir, "docker"), []byte(engine), 0o755)
	record := filepath.Join(dir, "record")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("HOME", "/home/ann")
	s, err := New(Profile{By: "docker", Image: "node:22-slim", Read: []string{"~/notes"}, Env: []string{"TOKEN"}}, Options{Package: []string{"/pkg"}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd := exec.Command("node", "/pkg/a.js")
	cmd.Path, cmd.Err = "/usr/bin/node", nil
	t.Setenv("RECORD", record)
	t.Setenv("OWN", "junction")
	cmd.Env = []string{"PATH=/elsewhere", "TOKEN=sesame", "LD_PRELOAD=/tmp/evil.so", "DOCKER_HOST=tcp://evil.example.com", "CONTAINERS_CONF=/tmp/evil", "RECORD=/dev/null"}
	cmd.Stdout = &out
	ended, err := s.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	ended()
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	name := regexp.MustCompile(`junction-[0-9a-f]{16}`).FindString(lines[0])
	variables := regexp.MustCompile(`--env-file=(\S+)`).FindStringSubmatch(lines[0])
	if len(variables) != 2 || exists(variables[1]) {
		t.Fatalf("the variables are in %q, and still there", variables)
	}
	lines[0] = strings.Replace(lines[0], variables[1], "FILE", 1)
	wantOut := "prw-------\nTOKEN=sesame\nLD_PRELOAD=/tmp/evil.so\nDOCKER_HOST=tcp://evil.example.com\nCONTAINERS_CONF=/tmp/evil\nRECORD=/dev/null\nit runs with  of junction\n"
	want := []string{"run --name=" + name + " --interactive --rm --init --read-only --cap-drop=ALL --security-opt=no-new-privileges --pids-limit=256 --memory=1073741824 --memory-swap=1073741824 " +
		"--ulimit=nofile=1024 --tmpfs=/tmp:rw,nosuid,nodev,size=268435456 --network=none --mount=type=bind,source=/pkg,target=/pkg,readonly " +
		"--mount=type=bind,source=/home/ann/notes,target=/home/ann/notes,readonly --env-file=FILE node:22-slim node /pkg/a.js", "rm --force " + name}
	if !slices.Equal(lines, want) || name == "" || out.String() != wantOut || strings.Contains(string(text), "sesame") {
		t.Errorf("got\n%s\nwant\n%s\noutput %q", strings.Join(lines, "\n"), strings.Join(want, "\n"), out.String())
	}
}

func TestAmbiguousVariablesOfContainersAreRefused(t *testing.T) {
	for _, pair := range []string{"A=1\nB=2", "#A=1", "A B=1", "=1"} {
		if got, err := containerVariables([]string{pair}, nil); err == nil {
			t.Errorf("%q: got %q", pair, got)
		}
	}
	got, err := containerVariables([]string{"PATH=/x", "LC_ALL=C", "PWD=/", "A=1", "TZ=UTC", "A=2=3"}, []string{"TZ"})
	if err != nil || got != "A=2=3\nTZ=UTC\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAnEngineThatIsNotThereConfinesNothing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s, err := New(Profile{By: "podman", Image: "x"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Start(exec.Command("/bin/true")); !errors.Is(err, ErrUnconfined) || err.Error() != "cannot be confined as its profile says: podman is not installed" {
		t.Errorf("got %v", err)
	}
	if _, err := New(Profile{By: "chroot"}, Options{}); err == nil || err.Error() != `by: expected docker or podman, got "chroot"` {
		t.Errorf("got %v", err)
	}
}
