// Package bench measures a real daemon against a server on loopback. The server
// is another process, so that CPU time is that of the daemon alone. What deciding
// costs is measured in virtual time, without a server.
package bench
