package hostconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// An entry with an address becomes one with a command that finds the address and the headers in its environment: on a command
// line, all users of a machine would see what is secret in them.
const (
	urlVariable = "JUNCTION_URL"
	// HeaderVariable begins the names of the variables that hold headers; a number from 1 follows: "NAME: VALUE".
	HeaderVariable = "JUNCTION_HEADER_"
	fromEnding     = "_FROM" // of the variable that names one whose value ends the header
	// maxHeaders bounds the headers of an entry.
	maxHeaders = 100
)

// A Variable is one of the environment.
type Variable struct{ Name, Value string }

// remote is what the environment of a command has to have so that [RemoteOf] finds there where the entry's server is. pass
// are the variables of the host that it needs, too.
func (e *Entry) remote() (env []Variable, pass []string, err error) {
	r := &carrier{Carried: &Carried{}, e: e}
	for _, name := range e.n.headers {
		if m := e.member(name); m != nil {
			err = errors.Join(err, r.remote(*m))
		}
	}
	for _, h := range r.Headers {
		r.headers = append(r.headers, header{name: h.Name, value: h.Value})
	}
	env = []Variable{{urlVariable, e.URL}}
	for i, h := range r.headers {
		variable := HeaderVariable + strconv.Itoa(i+1)
		env = append(env, Variable{variable, h.name + ": " + h.value})
		if h.from != "" {
			env = append(env, Variable{variable + fromEnding, h.from})
			pass = append(pass, h.from)
		}
		if e.n.command == "cmd" && strings.Contains(h.value, "$") {
			err = errors.New("only the host itself can replace the variables in its headers")
		}
	}
	if len(r.headers) > maxHeaders {
		err = fmt.Errorf("it has more than %d headers", maxHeaders)
	}
	return env, pass, err
}

// RemoteOf reads what [Document.Replace] put into an environment: the address, and headers as "NAME: VALUE".
func RemoteOf(getenv func(string) string) (url string, headers []string, err error) {
	if url = getenv(urlVariable); url == "" {
		return "", nil, fmt.Errorf("the variable %s is not set; it says where the server is", urlVariable)
	}
	for i := 1; i <= maxHeaders; i++ {
		variable := HeaderVariable + strconv.Itoa(i)
		header := getenv(variable)
		if header == "" {
			break
		}
		if from := getenv(variable + fromEnding); from != "" {
			value := getenv(from)
			if value == "" {
				return "", nil, fmt.Errorf("the variable %s is not set, which a header is made of", from)
			}
			header += value
		}
		headers = append(headers, header)
	}
	return url, headers, nil
}
