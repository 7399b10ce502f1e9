package hostile

import (
	"io"
	"net"
	"strings"
)

// headers returns those whose response headers are the weapon.
func headers() []Beast {
	return []Beast{
		{ID: "header-cookies_5000", Harm: "sets cookies for ever", Talk: flood(ok, "Set-Cookie: name=value-of-a-usual-length; Path=/; HttpOnly; Secure\r\n")},
		{ID: "header-one_line", Harm: "sends one endless header line", Talk: flood(ok+"X-Long: ", "x")},
		{ID: "header-status_line", Harm: "sends an endless status line", Talk: flood("HTTP/1.1 200 ", "O")},
		{ID: "header-1xx_flood", Harm: "sends early hints for ever", Talk: flood("", "HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n")},
		{ID: "header-101_unasked", Harm: "switches to another protocol", Talk: flood("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "x")},
		{ID: "header-nul_in_name", Harm: "has a NUL in a field name", Talk: say(ok + "X-\x00: " + strings.Repeat("a", 100_000) + "\r\nContent-Length: 4\r\n\r\npage")},
		{ID: "header-two_lengths", Harm: "announces two lengths", Talk: say(ok + "Content-Length: 4\r\nContent-Length: 5\r\n\r\npage!")},
		{ID: "header-negative_length", Harm: "announces a length below zero", Talk: say(ok + "Content-Length: -4\r\n\r\npage")},
		{ID: "header-garbage", Harm: "speaks another protocol", Talk: flood("", "\x16\x03\x01\x02\x00\x01\x00\xff")},
	}
}

// frames returns those that lie about where a response ends.
func frames() []Beast {
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	return []Beast{
		{ID: "frame-cl_short", Harm: "hangs up in the middle of the body", Talk: say(ok + "Content-Length: 100\r\n\r\nhalf.")},
		{ID: "frame-chunk_garbage", Harm: "sends a chunk of size ZZ", Talk: say(chunked + "ZZ\r\npage\r\n0\r\n\r\n")},
		{ID: "frame-chunk_huge", Harm: "announces a chunk larger than any number", Talk: say(chunked + "ffffffffffffffffff\r\npage\r\n0\r\n\r\n")},
		{ID: "frame-chunk_extension", Harm: "sends an endless extension of a chunk", Talk: flood(chunked+"4;x=", "y")},
		{ID: "frame-chunk_no_end", Harm: "hangs up before the last chunk", Talk: say(chunked + "4\r\nhalf\r\n")},
		{ID: "frame-trailer_flood", Harm: "sends trailers for ever", Talk: flood(chunked+"4\r\npage\r\n0\r\n", "X-Trailer: again and again\r\n")},
		{ID: "frame-rst_mid", Harm: "resets the connection in the middle of the body", Talk: resets},
		{ID: "frame-close_at_once", Harm: "hangs up without a word", Talk: func(net.Conn) {}},
	}
}

// rude returns those whose answers are well formed, and no use.
func rude() []Beast {
	return []Beast{
		{ID: "redir-loop", Harm: "redirects to itself", Talk: say(answer("302 Found", "", "Location", "/"))},
		{ID: "redir-no_location", Harm: "redirects to nowhere", Talk: say(answer("302 Found", "nowhere"))},
		{ID: "redir-to_private", Harm: "redirects to a metadata service", Talk: say(answer("302 Found", "", "Location", "http://169.254.169.254/latest/"))},
		{ID: "redir-endless_url", Harm: "redirects to a URL of 100 KB", Talk: say(answer("302 Found", "", "Location", "/"+strings.Repeat("x", 100_000)))},
		{ID: "polite-429_none", Harm: "refuses without saying for how long", Talk: say(answer("429 Too Many Requests", ""))},
		{ID: "polite-429_seconds", Harm: "asks to be left alone for two minutes", Talk: say(answer("429 Too Many Requests", "", "Retry-After", "120"))},
		{ID: "polite-flood_503", Harm: "is always busy", Talk: say(answer("503 Service Unavailable", "busy"))},
	}
}

// resets breaks the connection in the middle of a body.
func resets(conn net.Conn) {
	hear(conn)
	io.WriteString(conn, ok+"Content-Length: 100000\r\n\r\n"+strings.Repeat("x", 5000))
	if c, ok := conn.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
}
