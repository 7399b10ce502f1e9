package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"freshet/internal/freshet/rendering"
)

// supported says whether pages can be rendered on this system at all.
const supported = true

// A process is a browser that runs, with its pipe and the listener of its proxy.
type process struct {
	cmd      *exec.Cmd
	profile  string
	commands *os.File // to the browser
	answers  *os.File // from the browser
	listener net.Listener
	said     *tail         // the last of what it printed
	over     chan struct{} // closed when the browser has ended
}

// files are ends of pipes.
type files []*os.File

func (f files) close() {
	for _, file := range f {
		file.Close()
	}
}

// start starts the browser with a profile, in a network of its own if confined.
func (r *Renderer) start(ctx context.Context, path, profile string, size rendering.Viewport, confined bool) (p *process, err error) {
	p = &process{profile: profile, over: make(chan struct{}), said: &tail{}}
	var ours, theirs files
	defer func() {
		theirs.close() // the browser has its own
		if err != nil {
			ours.close()
			if p.listener != nil {
				p.listener.Close()
			}
		}
	}()
	if err := p.connect(&ours, &theirs, exec.Command(path, r.flags(profile, size)...)); err != nil {
		return nil, err
	}
	if !confined {
		if p.listener, err = listenHere(ctx); err != nil {
			return nil, err
		}
		p.cmd.Args = append(p.cmd.Args, proxyFlag(p.listener.Addr()))
		return p, p.run()
	}
	hands, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	handed := os.NewFile(uintptr(hands[0]), "listener")
	defer handed.Close()
	theirs = append(theirs, os.NewFile(uintptr(hands[1]), "listener"))
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, theirs[len(theirs)-1])
	p.cmd.Path, p.cmd.Args = r.cfg.Launch[0], slices.Concat(r.cfg.Launch, p.cmd.Args)
	p.cmd.SysProcAttr = ownNetwork()
	if err := p.run(); err != nil {
		return nil, err
	}
	theirs.close()
	if p.listener, err = receive(handed); err != nil {
		p.kill()
		return nil, fmt.Errorf("%w: %s", err, p.said)
	}
	return p, nil
}

// connect lays the pipes between us and the command of the browser. Those that are
// ours stay open when it has been started.
func (p *process) connect(ours, theirs *files, cmd *exec.Cmd) error {
	var ends [3][2]*os.File
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		ends[i] = [2]*os.File{r, w}
		if i > 0 {
			r, w = w, r // the first is written by us, the others by the browser
		}
		*theirs, *ours = append(*theirs, r), append(*ours, w)
	}
	p.commands, p.answers = ends[0][1], ends[1][0]
	go func(printed *os.File) {
		defer printed.Close()
		io.Copy(p.said, printed)
	}(ends[2][0])
	cmd.ExtraFiles = []*os.File{ends[0][0], ends[1][1]}
	cmd.Stdout, cmd.Stderr = ends[2][1], ends[2][1]
	cmd.Env = environment(p.profile)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	p.cmd = cmd
	return nil
}

// run starts the process. The kernel kills it when the thread that started it ends,
// so that thread waits for it.
func (p *process) run() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.cmd.Wait()
			close(p.over)
		}
	}()
	return <-started
}

// kill ends the browser and all that belongs to it, and deletes its profile.
func (p *process) kill() {
	tree := processTree(p.cmd.Process.Pid)
	syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	for _, pid := range tree {
		syscall.Kill(pid, syscall.SIGKILL)
	}
	<-p.over
	if p.listener != nil {
		p.listener.Close()
	}
	clearAway(p.profile)
}

// clearAway kills what still uses a profile, and deletes it. A child that was forked
// a moment ago shows late, so it looks more than once.
func clearAway(profile string) {
	for calm := 0; calm < 2; {
		calm++
		for _, pid := range usersOf(profile) {
			calm = 0
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if os.RemoveAll(profile) != nil {
			calm = 0
		}
		if calm == 0 {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// memory returns how many bytes the browser has to itself.
func (p *process) memory() int64 { return memoryOf(p.cmd.Process.Pid) }

// ownNetwork returns how to start a process in a network that has nothing in it. An
// ordinary user needs a user namespace for that, in which the launcher may set up
// the network's loopback and nothing else.
func ownNetwork() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL, Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		attr.Cloneflags |= syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	}
	return attr
}

// handOver is the file on which a launcher hands over the listener of the proxy.
const handOver = 5

// Launch is the body of the process that a [Renderer] starts with the command in its
// Config, in a network of its own. The arguments are the browser and its flags. It
// opens the proxy there, hands it over, and becomes the browser.
func Launch(args []string) error {
	if len(args) == 0 {
		return errors.New("no browser to start")
	}
	if err := loopbackUp(); err != nil {
		return fmt.Errorf("set up the network of the browser: %w", err)
	}
	l, err := listenHere(context.Background())
	if err != nil {
		return fmt.Errorf("open the proxy of the browser: %w", err)
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return fmt.Errorf("open the proxy of the browser: %w", err)
	}
	if err := syscall.Sendmsg(handOver, []byte{1}, syscall.UnixRights(int(file.Fd())), nil, 0); err != nil {
		return fmt.Errorf("hand over the proxy: %w", err)
	}
	syscall.Close(handOver)
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up what the launcher may do: %w", err)
	}
	return syscall.Exec(args[0], append(slices.Clone(args), proxyFlag(l.Addr())), os.Environ())
}

// loopbackUp sets up the one interface of a new network.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, lo)
}

// receive takes the listener that a launcher hands over.
func receive(from *os.File) (net.Listener, error) {
	defer from.Close()
	data, control := make([]byte, 1), make([]byte, syscall.CmsgSpace(4))
	conn, err := net.FileConn(from)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(startPatience))
	_, n, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(data, control)
	if err != nil {
		return nil, fmt.Errorf("the launcher of the browser: %w", err)
	}
	messages, err := syscall.ParseSocketControlMessage(control[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.New("the launcher of the browser handed over nothing")
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.New("the launcher of the browser handed over nothing")
	}
	file := os.NewFile(uintptr(fds[0]), "proxy")
	defer file.Close()
	return net.FileListener(file)
}

// environment returns the environment of a browser: no secrets, and a home that is deleted with its
// profile.
func environment(profile string) []string {
	env := []string{"HOME=" + profile, "TMPDIR=" + profile, "XDG_CONFIG_HOME=" + profile, "XDG_CACHE_HOME=" + profile, "LANG=C.UTF-8"}
	for _, name := range []string{"PATH", "TZ", "LD_LIBRARY_PATH"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// refusedByKernel reports whether an error means that no namespace can be had.
func refusedByKernel(err error) bool {
	for _, no := range []error{syscall.EPERM, syscall.EACCES, syscall.ENOSYS, syscall.EINVAL, syscall.ENOSPC, syscall.EUSERS} {
		if errors.Is(err, no) {
			return true
		}
	}
	return strings.Contains(err.Error(), "set up the network")
}
