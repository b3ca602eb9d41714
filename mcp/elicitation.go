package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const methodElicit = "elicitation/create"

// The modes of elicitation (client/elicitation).
const (
	ElicitForm = "form" // the user fills in a form; the default
	ElicitURL  = "url"  // the user visits a web page, for data that must not pass through the client
)

// An ElicitRequest asks the user for input (client/elicitation).
type ElicitRequest struct {
	// Key identifies the request; see [ServerRequest]. It may be empty. It is not sent to legacy
	// clients.
	Key string `json:"-"`
	// Mode is [ElicitForm], [ElicitURL], or empty, which means ElicitForm.
	Mode string `json:"mode,omitempty"`
	// Message tells the user which input is wanted, and for which purpose.
	Message string `json:"message"`
	// RequestedSchema describes the form: a flat object of strings, numbers, booleans and choices.
	// Forms must not ask for secrets.
	RequestedSchema json.RawMessage `json:"requestedSchema,omitzero"`
	// URL is the address of the page that the user visits.
	URL string `json:"url,omitempty"`
	// ElicitationID identifies a URL elicitation in revision 2025-11-25.
	ElicitationID string `json:"elicitationId,omitempty"`
}

// The actions of an [ElicitResult].
const (
	ElicitAccept  = "accept"
	ElicitDecline = "decline" // the user refused
	ElicitCancel  = "cancel"  // the user made no choice
)

// An ElicitResult holds the user's response to an [ElicitRequest].
type ElicitResult struct {
	Action string `json:"action"`
	// Content contains the values of the form if Action is [ElicitAccept]. It is one JSON object
	// that fits the requested schema.
	Content json.RawMessage `json:"content,omitzero"`
}

// The errors of [Elicit] if the user did not fill in the form.
var (
	ErrDeclined  = errors.New("the user declined")
	ErrDismissed = errors.New("the user dismissed the question without a choice")
)

// Elicit asks the user of the running request to fill in a form, and returns the form as a T. T
// must be a struct whose fields are strings, numbers, booleans, or slices of strings with an enum.
// Its tags are the same as for arguments of tools. The error is [ErrDeclined] or [ErrDismissed] if
// the user did not fill in the form. It is an [*Error] if the client does not support elicitation,
// and [ErrInputRequired] if the response comes with the next round. The tool should return any of
// these errors unchanged.
func Elicit[T any](ctx context.Context, message string) (T, error) {
	return ElicitWith[T](ctx, ElicitRequest{Message: message})
}

// ElicitWith is like [Elicit], with a Key or a form of the caller. Accepted values of the form must
// fit T. Mode must be empty or [ElicitForm]; for a URL, use [ElicitRaw].
func ElicitWith[T any](ctx context.Context, req ElicitRequest) (T, error) {
	var value T
	if req.Mode != "" && req.Mode != ElicitForm {
		return value, fmt.Errorf("elicitation: mode %q has no form to read: use ElicitRaw", req.Mode)
	}
	if req.RequestedSchema == nil {
		form, err := elicitForm(reflect.TypeFor[T]())
		if err != nil {
			return value, err
		}
		req.RequestedSchema = form
	}
	result, err := ElicitRaw(ctx, req)
	if err != nil {
		return value, err
	}
	switch result.Action {
	case ElicitDecline:
		return value, ErrDeclined
	case ElicitCancel:
		return value, ErrDismissed
	}
	if err := schema.DecodeLoose(result.Content, &value); err != nil {
		return value, fmt.Errorf("elicitation: the user's answer: %w", err)
	}
	return value, nil
}

// ElicitRaw asks the user with a form that is known only at run time, or with a URL. In an accepted
// form, omitted members have their defaults, and the content fits the requested schema. ElicitRaw
// does not send a request that a client could not show, such as one with mode url and no URL.
func ElicitRaw(ctx context.Context, req ElicitRequest) (*ElicitResult, error) {
	if err := req.check(); err != nil {
		return nil, fmt.Errorf("elicitation: %w", err)
	}
	params, err := schema.Encode(nil, req)
	if err != nil {
		return nil, fmt.Errorf("elicitation: %w", err)
	}
	response, err := ask(ctx, ServerRequest{Key: req.Key, Method: methodElicit, Params: params})
	if err != nil {
		return nil, err
	}
	return checkedElicitResult(req, response)
}

// check returns an error if the request is malformed.
func (r *ElicitRequest) check() error {
	switch r.Mode {
	case ElicitURL:
		address, err := url.Parse(r.URL)
		switch {
		case err != nil || !address.IsAbs():
			return fmt.Errorf("mode %q needs the URL of a page, got %q", r.Mode, r.URL)
		case r.RequestedSchema != nil:
			return fmt.Errorf("mode %q has no form: leave RequestedSchema out", r.Mode)
		}
		return nil
	case "", ElicitForm:
		if r.URL != "" {
			return fmt.Errorf("a form has no URL: set Mode to %q, or leave URL out", ElicitURL)
		}
		if r.RequestedSchema == nil {
			return nil
		}
		if _, err := schema.Compile(r.RequestedSchema); err != nil {
			return fmt.Errorf("requested schema: %w", err)
		}
		_, err := flatForm(r.RequestedSchema)
		return err
	}
	return fmt.Errorf("mode: expected %q or %q, got %q", ElicitForm, ElicitURL, r.Mode)
}

func checkedElicitResult(req ElicitRequest, response json.RawMessage) (*ElicitResult, error) {
	var result ElicitResult
	if err := schema.DecodeLoose(response, &result); err != nil {
		return nil, Errorf(CodeInvalidParams, "the response to an elicitation: %v", err)
	}
	switch result.Action {
	case ElicitDecline, ElicitCancel:
		return &result, nil
	case ElicitAccept:
	default:
		return nil, Errorf(CodeInvalidParams, "the response to an elicitation: action: expected accept, decline or cancel, got %q", result.Action)
	}
	if req.Mode == ElicitURL || req.RequestedSchema == nil {
		return &result, nil
	}
	if result.Content == nil {
		result.Content = json.RawMessage(`{}`)
	}
	validate, err := schema.Compile(req.RequestedSchema)
	if err != nil {
		return nil, fmt.Errorf("elicitation: requested schema: %w", err)
	}
	if result.Content, err = validate.Complete(result.Content); err != nil {
		return nil, Errorf(CodeInvalidParams, "the response to an elicitation does not fit the form: %v", err)
	}
	return &result, nil
}

// elicitForm infers the schema of a form from a type, and checks that it is a valid form.
func elicitForm(t reflect.Type) (json.RawMessage, error) {
	form, err := schema.For(t, TypeSchemas(nil).of(t))
	if err != nil {
		return nil, fmt.Errorf("elicitation: %v: %w", t, err)
	}
	form, err = flatForm(form)
	if err != nil {
		return nil, fmt.Errorf("elicitation: %v: %w", t, err)
	}
	return form, nil
}

// formRemedy returns how to write a field that a form cannot hold because of its type, or "".
func formRemedy(kind json.RawMessage) string {
	if bytes.Contains(kind, []byte(`"null"`)) {
		return "; a field that may be left out has no pointer, and omitempty in its json tag"
	}
	return ""
}

// flatForm checks that the type of every property is allowed in forms. It removes keywords that the
// specification does not allow in forms.
func flatForm(form json.RawMessage) (json.RawMessage, error) {
	if kind := jsonrpc.Get(form, "type"); kind != nil && string(kind) != `"object"` {
		return nil, fmt.Errorf("a form is an object, with a field for each question: use a struct, not %s", kind)
	}
	for p := range schema.Look(form).Properties() {
		switch kind := jsonrpc.Get(p.Raw(), "type"); string(kind) {
		case `"string"`, `"number"`, `"integer"`, `"boolean"`:
		case `"array"`:
			items := jsonrpc.Get(p.Raw(), "items")
			if jsonrpc.Get(items, "enum") == nil && jsonrpc.Get(items, "anyOf") == nil {
				return nil, fmt.Errorf("field %q: a form can only hold lists of strings with an enum", p.Name)
			}
		default:
			return nil, fmt.Errorf("field %q: a form holds strings, numbers, booleans and choices, not %s%s", p.Name, kind, formRemedy(kind))
		}
	}
	return jsonrpc.Without(form, "additionalProperties", "$defs", "title", "description"), nil
}
