package hostconfig

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Replaced entries with an address start a program that reads the address and the headers from
// these environment variables. On its command line all users of the machine could read the secrets
// in them.
const (
	urlVariable = "JUNCTION_URL"
	// HeaderVariable is the prefix of the variables for headers, followed by a number from 1. Their
	// values are "NAME: VALUE".
	HeaderVariable = "JUNCTION_HEADER_"
	fromEnding     = "_FROM" // ending of a variable that names another variable; the value of that other variable ends the header
	// maxHeaders is the maximum number of headers of an entry.
	maxHeaders = 100
)

// A Variable is an environment variable.
type Variable struct{ Name, Value string }

// remote returns the environment that [RemoteOf] uses to find the address and the headers of the
// entry's server. pass lists further variables of the host's environment that the program needs.
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

// RemoteOf reads the address and the headers that [Document.Replace] put into an environment. Each
// header is "NAME: VALUE".
func RemoteOf(getenv func(string) string) (url string, headers []string, err error) {
	if url = getenv(urlVariable); url == "" {
		return "", nil, fmt.Errorf("the variable %s is not set, and the server's address needs it", urlVariable)
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
				return "", nil, fmt.Errorf("the variable %s is not set, and a header needs it", from)
			}
			header += value
		}
		headers = append(headers, header)
	}
	return url, headers, nil
}
