// Package console is a web page on this machine, with its API, that shows the messages of clients
// and servers of the Model Context Protocol.
//
// A [Console] lets in the browser that opens a link from it, once. It serves the page, which is in
// the binary, loads nothing from other places and runs only its own scripts. [Console.Handle] adds
// routes to its API.
//
// The page is in the folder web, as modules that need no build; the first line of each describes
// it. app.js is the frame around the views:
//
//   - Traffic: traffic.js, with list.js (the list and the diagram), rows.js, traffic_controls.js,
//     filter.js, message.js (one open message) and waterfall.js. Its API is package live.
//   - Servers: servers.js (the list), server.js (one server), gateway.js (rules, calls, profiles).
//   - Inspector: inspector.js, with connect.js, session.js, overview.js, item.js, run.js,
//     results.js, questions.js, history.js and activity.js. Its API is package inspect.
//   - Conversations: conversations.js.
//
// Forms are form.js, form_field.js (the input for a schema), form_controls.js (the inputs) and
// form_groups.js (objects, lists, alternatives); schema.js, check.js and sample.js read, check and
// fill in by JSON Schema. The texts are in words.
package console
