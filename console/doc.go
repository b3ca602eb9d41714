// Package console provides a web page on this machine, with its API, that shows the messages
// between clients and servers of the Model Context Protocol.
//
// A [Console] admits the browser that opens a link of the console; each link works once. The page
// is part of the binary, loads nothing from elsewhere and runs only its own scripts.
// [Console.Handle] adds routes to the API.
//
// The page consists of modules in the folder web, which need no build. The first line of each
// describes it. app.js is the frame around these views:
//
//   - Traffic: traffic.js, with list.js (the list and the diagram), rows.js, traffic_controls.js,
//     filter.js, message.js (one open message) and waterfall.js. Its API is package live.
//   - Servers: servers.js (the list), server.js (one server), gateway.js (rules, calls, profiles).
//   - Inspector: inspector.js, with connect.js, session.js, overview.js, item.js, run.js,
//     results.js, questions.js, history.js and activity.js. Its API is package inspect.
//   - Conversations: conversations.js.
//
// The modules form.js, form_field.js (the input for a schema), form_controls.js (the inputs) and
// form_groups.js (objects, lists, alternatives) make forms. schema.js, check.js and sample.js parse
// JSON Schema, validate values and make sample values. All texts of the page are in words.
package console
