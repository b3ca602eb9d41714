// Package console is a web page on this machine that shows what clients and servers of the Model Context Protocol say,
// and the API that the page uses.
//
// A [Console] lets in who opens a link that it made, once. It serves the page, which is in the binary, needs nothing from
// anywhere else and runs no script but its own, and whatever [Console.Handle] adds to its API.
//
// The page is in the folder web, as modules that no tool builds; the first line of each says what it is. app.js is the
// frame around the views:
//
//   - Traffic: traffic.js, with list.js (the list and the diagram), rows.js, traffic_controls.js, filter.js, message.js
//     (one message that is opened) and waterfall.js. Its API is package live.
//   - Servers: servers.js (the list), server.js (one server), gateway.js (rules, calls, profiles).
//   - Inspector: inspector.js, with connect.js, session.js, overview.js, item.js, run.js, results.js, questions.js,
//     history.js and activity.js. Its API is package inspect.
//   - Conversations: conversations.js.
//
// Forms are form.js, form_field.js (which input a schema gets), form_controls.js (the inputs) and form_groups.js (objects,
// lists, alternatives); schema.js, check.js and sample.js read, check and fill in by JSON Schema. The texts are in words.
package console
