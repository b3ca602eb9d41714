package runner

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// An Effect tells what an option of docker run means for a program that Junction starts.
type Effect int

// The effects of options.
const (
	Rights   Effect = iota // gives rights to the container, or the option is unknown
	Made                   // Junction sets it already, or it would disturb the messages
	Plain                  // gives no rights
	Bound                  // removes rights
	Variable               // sets an environment variable of the container
	Mount                  // makes a folder of this machine available in the container
)

// An Option is an option of docker run or podman run.
type Option struct {
	Typed   string // name as it was written
	Name    string // long form of the name, if there is one
	Value   string
	IsValue bool // the option has a value
	Effect  Effect
	At, Len int // index of its first word, and number of its words
}

// Words returns the option as words of a command line.
func (o Option) Words() []string {
	if !o.IsValue {
		return []string{o.Name}
	}
	return []string{o.Name + "=" + o.Value}
}

// Source returns the folder or file of this machine that a mount makes available. It returns "" if
// there is none, for example for a volume.
func (o Option) Source() string {
	if o.Name == "--volume" {
		source, _, found := strings.Cut(o.Value, ":")
		if len(source) == 1 && strings.HasPrefix(o.Value[1:], `:\`) { // a drive letter of Windows
			drive := source
			source, _, found = strings.Cut(o.Value[2:], ":")
			source = drive + ":" + source
		}
		if !found {
			return ""
		}
		return source
	}
	for field := range strings.SplitSeq(o.Value, ",") {
		if name, value, _ := strings.Cut(field, "="); name == "source" || name == "src" {
			return value
		}
	}
	return ""
}

// A rule describes an option: its long name, whether it has a value, and its effect.
type rule struct {
	long   string
	value  bool
	effect Effect
}

// rules contains the known options. onlyValues contains restrictions of their values.
var rules = map[string]rule{
	"-i": {"--interactive", false, Made}, "-t": {"--tty", false, Made}, "--interactive": {"", false, Made}, "--tty": {"", false, Made},
	"--rm": {"", false, Made}, "--init": {"", false, Made}, "--name": {"", true, Made}, // rejected because two containers cannot have the same name
	"-d": {"--detach", false, Rights}, "--detach": {"", false, Rights}, "--privileged": {"", false, Rights}, "-P": {"--publish-all", false, Rights},
	"--publish-all": {"", false, Rights}, "--no-healthcheck": {"", false, Plain}, "--oom-kill-disable": {"", false, Rights}, "--sig-proxy": {"", false, Made},
	"-q": {"--quiet", false, Plain}, "--quiet": {"", false, Plain},
	"-e": {"--env", true, Variable}, "--env": {"", true, Variable},
	"-l": {"--label", true, Plain}, "--label": {"", true, Plain}, "--entrypoint": {"", true, Plain}, "--platform": {"", true, Plain}, "--pull": {"", true, Plain},
	"-w": {"--workdir", true, Plain}, "--workdir": {"", true, Plain},
	"--read-only": {"", false, Bound}, "--cap-drop": {"", true, Bound}, "--pids-limit": {"", true, Bound}, "-m": {"--memory", true, Bound}, "--memory": {"", true, Bound},
	"--cpus": {"", true, Bound}, "--network": {"", true, Bound}, "--net": {"--network", true, Bound}, "--security-opt": {"", true, Bound},
	"-v": {"--volume", true, Mount}, "--volume": {"", true, Mount}, "--mount": {"", true, Mount},
	"-p": {"--publish", true, Rights}, "-u": {"--user", true, Rights}, "-h": {"--hostname", true, Rights}, "-c": {"--cpu-shares", true, Rights}, "-a": {"--attach", true, Made},
}

// onlyValues contains the values with which options remove rights. With other values these options
// give rights.
var onlyValues = map[string][]string{
	"--network": {"none"}, "--security-opt": {"no-new-privileges", "no-new-privileges:true", "no-new-privileges=true"},
}

// Container parses the words after "docker run": the options, the image, and the arguments of the
// image. It assumes that an unknown option has a value, as most options do. If it returns an error,
// options contains the options up to and including the one with the error.
func Container(words []string) (options []Option, rest []string, err error) {
	for i := 0; i < len(words); {
		word := words[i]
		switch {
		case !strings.HasPrefix(word, "-") || word == "-":
			return options, words[i:], nil
		case word == "--":
			return options, words[i+1:], nil
		}
		o, known := optionOf(word)
		o.At, o.Len = i, 1
		if r := rules[o.Typed]; !o.IsValue && (r.value || !known) {
			if i+1 == len(words) {
				o.Effect = Rights
				return append(options, o), nil, fmt.Errorf("%s has no value", o.Typed)
			}
			o.Value, o.IsValue, o.Len = words[i+1], true, 2
		}
		if only := onlyValues[o.Name]; only != nil && !slices.Contains(only, o.Value) || o.Effect == Mount && !o.isBind() {
			o.Effect = Rights
		}
		options = append(options, o)
		i += o.Len
	}
	return options, nil, ErrNoImage
}

// ErrNoImage means that no image follows the options.
var ErrNoImage = errors.New("the container has no image")

// optionOf parses the option in word. It does not consider the next word, which may be the option's
// value.
func optionOf(word string) (o Option, known bool) {
	name, value, joined := strings.Cut(word, "=")
	o = Option{Typed: name, Name: name, Value: value, IsValue: joined}
	r, known := rules[name]
	if !known && !strings.HasPrefix(word, "--") && len(word) > 2 { // several letters, or one letter with its value
		if isLetters(word[1:], "it") {
			return Option{Typed: word, Name: word, Effect: Made}, true
		}
		if r, known = rules[word[:2]]; known && r.value {
			o = Option{Typed: word[:2], Name: word[:2], Value: strings.TrimLeft(word[2:], "= "), IsValue: true}
		} else {
			return Option{Typed: word, Name: word, Effect: Rights}, isLetters(word[1:], "itdPq")
		}
	}
	if r.long != "" {
		o.Name = r.long
	}
	if known {
		o.Effect = r.effect
		if joined && !r.value && o.Effect != Rights && value != "true" { // such as --rm=false
			o.Effect = Made
		}
	}
	return o, known
}

// isBind reports whether a mount makes a folder of this machine available and has no other
// settings.
func (o Option) isBind() bool {
	if o.Name == "--volume" {
		return o.Source() != ""
	}
	bind, sources, types := false, 0, 0 // if there are several types, docker uses the last one
	for field := range strings.SplitSeq(o.Value, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "type":
			bind = value == "bind"
			types++
		case "source", "src":
			sources++
		case "target", "destination", "dst", "readonly", "ro":
		default:
			return false
		}
	}
	return bind && types == 1 && sources == 1 && o.Source() != ""
}

// IsEngine reports whether a program is docker or podman.
func IsEngine(program string) bool {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(program, `\`, "/")), ".exe")
	return name == "docker" || name == "podman"
}

func isLetters(text, of string) bool { return strings.Trim(text, of) == "" }

// engineNames lists variables that docker, podman or their child processes use themselves. A
// variable of the container with such a name must not be in their environment, because they would
// use it too.
var engineNames = []string{"PATH", "HOME", "USER", "TMPDIR", "TMP", "TEMP", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "USERPROFILE", "SYSTEMROOT", "APPDATA", "PATHEXT",
	"REGISTRY_AUTH_FILE", "STORAGE_DRIVER", "STORAGE_OPTS", "SSH_AUTH_SOCK", "GODEBUG"}

// engineReads lists prefixes of further variables of this kind.
var engineReads = []string{"DOCKER_", "PODMAN_", "CONTAINER", "BUILDKIT_", "BUILDAH_", "LD_", "DYLD_", "XDG_", "SSL_CERT_", "DBUS_"}

// EngineReads reports whether docker or podman use a variable themselves.
func EngineReads(name string) bool {
	upper := strings.ToUpper(name)
	return slices.Contains(engineNames, upper) || slices.ContainsFunc(engineReads, func(prefix string) bool { return strings.HasPrefix(upper, prefix) })
}
