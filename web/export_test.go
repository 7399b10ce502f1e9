package web

// WriteEvent gives the encoder of server-sent events to its fuzz test.
var WriteEvent = writeEvent
