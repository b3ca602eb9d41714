package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/junction-mcp/junction/mcp"
)

type messageInput struct {
	Message string `json:"message" doc:"The message to show the user."`
}

const userForm = `{"type":"object","properties":{
	"username":{"type":"string","description":"User's response"},
	"email":{"type":"string","description":"User's email address"}
},"required":["username","email"]}`

const defaultsForm = `{"type":"object","properties":{
	"name":{"type":"string","description":"User name","default":"John Doe"},
	"age":{"type":"integer","description":"User age","default":30},
	"score":{"type":"number","description":"User score","default":95.5},
	"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
	"verified":{"type":"boolean","description":"Verification status","default":true}
}}`

const enumsForm = `{"type":"object","properties":{
	"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
	"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
	"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
	"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
	"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}
}}`

// addElicitation registers the tools that ask the user while they run.
func addElicitation(s *mcp.Server) {
	mcp.AddToolWith(s, about("test_elicitation", "Asks the user for a name and an address."), func(ctx context.Context, in messageInput) (string, error) {
		return elicited(ctx, "User response", in.Message, userForm)
	})
	mcp.AddToolWith(s, about("test_elicitation_sep1034_defaults", "Asks with a default in each kind of field."), func(ctx context.Context, _ struct{}) (string, error) {
		return elicited(ctx, "Elicitation completed", "Please review and update the form fields with defaults", defaultsForm)
	})
	mcp.AddToolWith(s, about("test_elicitation_sep1330_enums", "Asks with each kind of choice."), func(ctx context.Context, _ struct{}) (string, error) {
		return elicited(ctx, "Elicitation completed", "Please select options from the enum fields", enumsForm)
	})
}

func elicited(ctx context.Context, heading, message, form string) (string, error) {
	result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Message: message, RequestedSchema: json.RawMessage(form)})
	if err != nil {
		return "", err
	}
	content := result.Content
	if content == nil {
		content = json.RawMessage("{}")
	}
	return fmt.Sprintf("%s: action=%s, content=%s", heading, result.Action, content), nil
}
