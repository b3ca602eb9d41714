package jsonrpc

import (
	"encoding/json"
	"strconv"
)

// Kind is the kind of a message: request, notification or response.
type Kind uint8

// Kinds of messages. The zero Kind is invalid.
const (
	Request      Kind = iota + 1 // a method with an id
	Notification                 // a method without an id
	Response                     // a result or an error
)

// String returns the name of the kind as the specification writes it.
func (k Kind) String() string {
	switch k {
	case Request:
		return "request"
	case Notification:
		return "notification"
	case Response:
		return "response"
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// Message is one parsed message. Its raw values are sub-slices of the input to [Parse], which must
// not change while they are in use.
type Message struct {
	Kind    Kind
	Odd     Odd             // zero except after ParseLoose
	ID      ID              // zero in notifications, and in an error response whose request could not be identified
	Method  string          // set in requests and notifications
	Params  json.RawMessage // an object; nil if absent or null
	Result  json.RawMessage // any value; nil in error responses
	Error   *Error          // nil except in error responses
	Members Members         // index of Params, or of Result if it is an object
}

// Raw returns the input of [Parse], including white space around the message.
func (m *Message) Raw() []byte { return m.Members.src }

// Parse parses exactly one message, which may have white space around it. If it fails, the error
// has the code that the specification requires. The Message then contains only the ID, if it could
// be read, for the error response.
//
// Parse allocates one string for ID and Method together, the error of an error response, and memory
// for objects with more than 16 members.
func Parse(data []byte, l Limits) (msg Message, fault *Error) {
	s := newScanner(data, l)
	var top Members
	fault = s.document(&top, &msg.Members)
	top.src, msg.Members.src = data, data
	env := newEnvelope(&top)
	if fault == nil {
		fault = env.check()
	}
	if fault == nil {
		fault = env.fill(&msg)
	}
	if fault != nil {
		return Message{ID: env.readID()}, fault
	}
	return msg, nil
}

// envelope contains the members of a message that JSON-RPC defines.
type envelope struct {
	data                                     []byte
	jsonrpc, id, method, params, result, err span

	loose bool // set by loosen
	odd   Odd
}

// span is the location of a value in envelope.data. end is 0 if the value is absent.
type span struct{ start, end uint32 }

func (v span) absent() bool { return v.end == 0 }

func newEnvelope(top *Members) envelope {
	env := envelope{data: top.src}
	for i := range top.count {
		one := top.at(i)
		name := top.src[one.name+1 : one.nameEnd-1]
		if top.escaped {
			text, _ := Unquote(top.src[one.name:one.nameEnd])
			name = []byte(text)
		}
		value := span{one.value, one.valueEnd}
		switch string(name) {
		case "jsonrpc":
			env.jsonrpc = value
		case "id":
			env.id = value
		case "method":
			env.method = value
		case "params":
			env.params = value
		case "result":
			env.result = value
		case "error":
			env.err = value
		}
	}
	return env
}

func (env *envelope) raw(v span) []byte { return env.data[v.start:v.end:v.end] }

// refuse returns the error for the unexpected value v. what describes the expected value.
func (env *envelope) refuse(v span, what string) *Error {
	return expected(InvalidRequest, env.data, int(v.start), what)
}

// check checks the members common to all kinds of messages.
func (env *envelope) check() *Error {
	if i := SkipSpace(env.data, 0); env.data[i] != '{' {
		return expected(InvalidRequest, env.data, i, "an object")
	}
	switch {
	case env.jsonrpc.absent():
		return Errorf(InvalidRequest, `expected "jsonrpc":"2.0", found no member "jsonrpc"`)
	case env.odd&OddVersion != 0:
	case env.data[env.jsonrpc.start] != '"' || !sameName(env.raw(env.jsonrpc), "2.0"):
		return env.refuse(env.jsonrpc, `"jsonrpc" to be "2.0"`)
	}
	if env.id.absent() || string(env.raw(env.id)) == "null" && !env.err.absent() {
		return nil
	}
	if fault := checkID(env.raw(env.id)); fault != "" && env.odd&OddNumber == 0 {
		return env.refuse(env.id, fault)
	}
	return nil
}

// readID returns the id of a rejected message, or the zero ID.
func (env *envelope) readID() ID {
	if env.id.absent() || checkID(env.raw(env.id)) != "" && env.odd&OddNumber == 0 {
		return ""
	}
	return ID(env.raw(env.id))
}

func (env *envelope) fill(msg *Message) *Error {
	hasMethod, hasResult, hasError := !env.method.absent(), !env.result.absent(), !env.err.absent()
	switch {
	case hasMethod && (hasResult || hasError):
		return Errorf(InvalidRequest, "expected a method or a result or an error, found a method and another of them")
	case hasMethod:
		return env.fillCall(msg)
	case !env.params.absent():
		return env.refuse(env.params, "params to come with a method")
	case hasResult && hasError:
		return Errorf(InvalidRequest, "expected a result or an error, found both")
	case hasResult:
		if env.id.absent() {
			return Errorf(InvalidRequest, "expected a result to have an id, found none")
		}
		msg.Kind, msg.ID, msg.Result = Response, ID(env.raw(env.id)), env.raw(env.result)
		if env.loose {
			msg.ID = msg.ID.Plain()
		}
		return nil
	case hasError:
		fault := env.strictError(msg)
		msg.Kind, msg.ID = Response, env.readID()
		if env.loose {
			if msg.ID = msg.ID.Plain(); fault != nil {
				msg.Error, fault = env.readError(), nil
			}
		}
		return fault
	}
	return Errorf(InvalidRequest, "expected a method, a result or an error, found none of them")
}

func (env *envelope) fillCall(msg *Message) *Error {
	method := env.raw(env.method)
	if method[0] != '"' {
		return env.refuse(env.method, "a string as the method")
	}
	msg.Kind = Request
	if env.id.absent() {
		msg.Kind = Notification
	}
	switch {
	case env.params.absent() || string(env.raw(env.params)) == "null":
	case env.data[env.params.start] != '{':
		return env.refuse(env.params, "params to be an object")
	default:
		msg.Params = env.raw(env.params)
	}
	msg.ID, msg.Method = env.idAndMethod()
	return nil
}

// idAndMethod returns the id and the method as parts of one string, to need only one allocation.
func (env *envelope) idAndMethod() (ID, string) {
	id, method := env.raw(env.id), env.raw(env.method)
	plain := method[1 : len(method)-1]
	if plainEnd(plain, 0) < len(plain) {
		unquoted, _ := Unquote(method)
		return ID(id), unquoted
	}
	var buf [96]byte
	both := string(append(append(buf[:0], id...), plain...))
	return ID(both[:len(id)]), both[len(id):]
}

// strictError reads an error object that conforms to JSON-RPC.
func (env *envelope) strictError(msg *Message) *Error {
	if env.data[env.err.start] != '{' {
		return env.refuse(env.err, "error to be an object")
	}
	code, message, data := env.errorMembers()
	if len(code) == 0 || len(message) == 0 || message[0] != '"' {
		return env.refuse(env.err, "error to have a code and a message")
	}
	number, err := strconv.Atoi(string(code))
	if err != nil {
		return env.refuse(env.err, "error to have an integer as its code")
	}
	text, _ := Unquote(message)
	msg.Error = &Error{Code: number, Message: text, Data: data}
	return nil
}

func (env *envelope) errorMembers() (code, message, data []byte) {
	EachMember(env.raw(env.err), func(name, value []byte) bool {
		switch name, _ := Unquote(name); name {
		case "code":
			code = value
		case "message":
			message = value
		case "data":
			data = value
		}
		return true
	})
	return code, message, data
}
