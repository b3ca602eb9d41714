// Package live keeps the messages that go through the processes of Junction, for a page that shows them: in a ring on
// disk, with an index in memory, which is served as JSON and as a stream of server-sent events.
package live
