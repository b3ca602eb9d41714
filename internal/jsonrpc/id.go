package jsonrpc

import "strconv"

// maxID is the maximum length of an id in bytes, including quotes. Ids are stored while a request
// runs, so their size must be limited.
const maxID = 256

// ID is a request id exactly as in the message: the raw JSON text of a string or an integer, such
// as `7`, `"a"` or `9007199254740993`. The empty ID means that there is no id. IDs are comparable.
// 1 and "1" differ, and so do two spellings of one string, such as "a" and "\u0061". Programs that
// generate string ids should therefore avoid characters that need escapes.
type ID string

// IntID returns the id with the number n.
func IntID(n int64) ID { return ID(strconv.FormatInt(n, 10)) }

// StringID returns the id with the string s.
func StringID(s string) ID { return ID(AppendString(nil, s)) }

// IsZero reports whether there is no id.
func (id ID) IsZero() bool { return id == "" }

// IsString reports whether the id is a string. Otherwise it is a number, or there is none.
func (id ID) IsString() bool { return len(id) > 0 && id[0] == '"' }

// orNull returns the id to write into a response: null if id is zero because the id of the request
// could not be read.
func (id ID) orNull() ID {
	if id.IsZero() {
		return "null"
	}
	return id
}

// checkID returns "" if the valid JSON value raw can be an id. Otherwise it returns a description
// of the expected form.
func checkID(raw []byte) (fault string) {
	if len(raw) > maxID {
		return "an id of at most " + strconv.Itoa(maxID) + " bytes"
	}
	switch c := raw[0]; {
	case c == '"':
		return ""
	case c != '-' && (c < '0' || c > '9'):
		return "an id that is a string or an integer"
	}
	for _, c := range raw {
		if c == '.' || c == 'e' || c == 'E' {
			return "an id that is an integer in plain digits"
		}
	}
	return ""
}
