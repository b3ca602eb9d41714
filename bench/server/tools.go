package main

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/junction-mcp/junction/mcp"
)

// generated returns up to 200 tools with definitions of the size and shape that real services
// publish: about 1,130 bytes each.
func generated(most int) []mcp.Tool {
	var tools []mcp.Tool
	for _, service := range []string{"github", "jira", "slack", "gmail", "calendar", "drive", "postgres", "kubernetes", "stripe", "salesforce"} {
		for _, entity := range []string{"item", "comment", "user", "report"} {
			for _, verb := range []string{"create", "list", "update", "delete", "search"} {
				if len(tools) >= most {
					return tools
				}
				tools = append(tools, generate(service, verb, entity))
			}
		}
	}
	return tools
}

type object = map[string]any

func property(kind, description string, more ...object) object {
	p := object{"type": kind, "description": description}
	for _, m := range more {
		for name, value := range m {
			p[name] = value
		}
	}
	return p
}

func generate(service, verb, entity string) mcp.Tool {
	properties := object{
		"workspace": property("string", fmt.Sprintf("The %s workspace in which to %s", service, verb)),
		"dryRun":    property("boolean", "Change nothing"),
	}
	required := []string{"workspace"}
	switch verb {
	case "list", "search":
		reading(properties, entity)
	default:
		writing(properties, service, entity)
	}
	schema, err := json.Marshal(object{"type": "object", "properties": properties, "required": required})
	if err != nil {
		log.Fatal(err)
	}
	return mcp.Tool{
		Name:        fmt.Sprintf("%s_%s_%s", service, verb, entity),
		Description: fmt.Sprintf("Will %s %ss of %s for the person who asks. Others may see the effect: ask for a yes first.", verb, entity, service),
		InputSchema: schema,
	}
}

func reading(properties object, entity string) {
	properties["query"] = property("string", "What to look for; quotes keep words together")
	properties["state"] = property("string", "Which state to look at", object{"enum": []string{"open", "closed", "archived", "any"}})
	properties["order"] = property("string", "What the results are sorted by", object{"enum": []string{"created", "changed", "title"}})
	properties["since"] = property("string", "Omit what did not change after this moment", object{"format": "date-time"})
	properties["limit"] = property("integer", fmt.Sprintf("How many %ss to return at most", entity), object{"minimum": 1, "maximum": 100})
	properties["position"] = property("string", "Where to go on, as an earlier answer said")
	properties["fields"] = property("array", "Which fields to search through", object{"items": property("string", "Name of a field", object{"enum": []string{"title", "text", "labels", "people"}})})
}

func writing(properties object, service, entity string) {
	properties["id"] = property("string", fmt.Sprintf("Which %s, as %s_search_%s returned it", entity, service, entity))
	properties["title"] = property("string", fmt.Sprintf("What the %s is called", entity))
	properties["text"] = property("string", "The text, in Markdown")
	properties["labels"] = property("array", "Labels it shall have", object{"items": property("string", "A label")})
	properties["people"] = property("array", "Who takes care of it", object{"items": property("string", "An account name")})
	properties["urgency"] = property("string", "How soon it matters", object{"enum": []string{"low", "medium", "high", "now"}})
	properties["due"] = property("object", "By when it must be done", object{
		"properties": object{
			"date": property("string", "A day, such as 2026-03-01", object{"format": "date"}),
			"zone": property("string", "A time zone by its IANA name"),
		},
		"required": []string{"date"},
	})
}
