// A daemon as seen from Node.js: hello, one request, one session. Needs docs/PROTOCOL.md only.
//
//   torqued serve --robot chain20          (in another terminal)
//   npm install
//   node torqued.mjs chain20               (a name, or an endpoint: ipc://FILE or tcp://HOST:PORT)

import { tmpdir } from "node:os";
import { join } from "node:path";
import { Decoder, Encoder, ExtensionCodec } from "@msgpack/msgpack";
import { Dealer } from "zeromq";

const PROTOCOL = 1;
const PAYLOAD = 8; // where every frame's payload begins
const STATUS = {
  1: "STALE",
  2: "CLAMPED",
  4: "FALLBACK",
  8: "SOLVER",
  16: "NONFINITE",
  32: "INVALID",
  64: "OVERRUN",
  128: "LAST",
  256: "WALL",
  512: "LIMITED_REFERENCE",
  1024: "OSCILLATING",
  2048: "STOPPED",
  4096: "FROZEN",
  8192: "LAGGING",
};

// Arrays: extension type 1. Sent as one dimension of float64, read in any shape.
const extensions = new ExtensionCodec();
extensions.register({
  type: 1,
  encode: (value) => {
    if (!(value instanceof Float64Array)) return null;
    const data = new DataView(new ArrayBuffer(8 + 8 * value.length));
    data.setUint8(0, "d".charCodeAt(0));
    data.setUint8(1, 1);
    data.setUint32(4, value.length, true);
    value.forEach((x, k) => data.setFloat64(8 + 8 * k, x, true));
    return new Uint8Array(data.buffer);
  },
  decode: (bytes) => {
    const data = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (data.getUint8(0) !== "d".charCodeAt(0)) throw new Error("expected float64");
    const shape = Array.from({ length: data.getUint8(1) }, (_, k) => data.getUint32(4 + 4 * k, true));
    const start = Math.ceil((4 + 4 * shape.length) / 8) * 8;
    const size = shape.reduce((product, n) => product * n, 1);
    return { shape, values: readNumbers(data, start, size) };
  },
});
const encoder = new Encoder({ extensionCodec: extensions });
const decoder = new Decoder({ extensionCodec: extensions });

function readNumbers(data, start, count) {
  return Float64Array.from({ length: count }, (_, k) => data.getFloat64(start + 8 * k, true));
}

class Client {
  #socket = new Dealer({ linger: 0, receiveTimeout: 5000 });
  #id = 0;

  constructor(endpoint) {
    this.#socket.connect(endpoint);
  }

  async call(op, fields = {}) {
    const id = ++this.#id;
    await this.#socket.send(encoder.encode({ protocol: PROTOCOL, id, op, ...fields }));
    for (;;) {
      const reply = decoder.decode((await this.#socket.receive()).at(-1));
      if (reply.id !== id && reply.id !== null) continue; // late, of an earlier request
      if (!reply.ok) throw new Error(`${reply.error.code}: ${reply.error.message}`);
      return reply;
    }
  }

  close() {
    this.#socket.close();
  }
}

// A state frame is the msgpack of [text, binary]; the text's length puts the payload at byte 8.
function stateFrame(sequence, q, v) {
  const payload = new DataView(new ArrayBuffer(24 + 8 * (q.length + v.length)));
  const stamp = Number(process.hrtime.bigint()) / 1e9; // CLOCK_MONOTONIC, as the daemon's
  payload.setBigUint64(0, BigInt(sequence), true);
  payload.setFloat64(8, stamp, true);
  payload.setFloat64(16, stamp, true);
  [...q, ...v].forEach((x, k) => payload.setFloat64(24 + 8 * k, x, true));
  const size = payload.byteLength;
  const text = size < 256 ? "tqrd" : size < 65536 ? "tqd" : "t";
  return encoder.encode([text, new Uint8Array(payload.buffer)]);
}

function readOutput(frame, outputs) {
  const whole = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const head = new DataView(frame.buffer, frame.byteOffset + PAYLOAD, frame.byteLength - PAYLOAD);
  const bits = Number(head.getBigUint64(24, true));
  const values = {};
  for (const { name, shape, offset } of outputs) {
    const size = shape.reduce((product, n) => product * n, 1);
    values[name] = readNumbers(whole, offset, size);
  }
  return {
    tick: Number(head.getBigUint64(0, true)),
    sequence: Number(head.getBigInt64(8, true)),
    seen: Number(head.getBigInt64(16, true)),
    status: Object.keys(STATUS).filter((bit) => bits & bit).map((bit) => STATUS[bit]),
    age: head.getFloat64(32, true),
    ...values,
  };
}

// The endpoint of a daemon by its name, as the other clients find it.
function endpointFor(daemon) {
  if (daemon.includes("://")) return daemon;
  const { TORQUED_FOLDER, XDG_RUNTIME_DIR } = process.env;
  const runtime = XDG_RUNTIME_DIR && join(XDG_RUNTIME_DIR, "torqued");
  const folder = TORQUED_FOLDER || runtime || join(tmpdir(), `torqued-${process.getuid()}`);
  return `ipc://${folder}/${daemon}.sock`;
}

const client = new Client(endpointFor(process.argv[2] ?? "chain20"));
const hello = await client.call("hello");
console.log(`robot ${hello.name}: nq ${hello.nq}, nv ${hello.nv}, ${hello.rate} Hz`);

const q = hello.neutral.values.map((_, k) => 0.1 * (k + 1));
const v = new Float64Array(hello.nv).fill(0.5);
const { M, g } = await client.call("dynamics", { q, v, want: ["M", "g"] });
console.log(`M ${M.shape.join(" x ")}, M[0][0] ${M.values[0]}`);

const session = await client.call("open", { law: "gravity", gains: { damping: 2 } });
const dealer = new Dealer({
  routingId: session.owner,
  conflate: true, // the newest state and the newest output win
  linger: 0,
  receiveTimeout: 5000,
});
dealer.connect(session.endpoint);
let output;
for (let sequence = 1; sequence <= 100; sequence++) {
  let sent = 0;
  do {
    if (Date.now() - sent > 100) {
      await dealer.send(stateFrame(sequence, q, v)); // again too: ZeroMQ may lose a state
      sent = Date.now();
    }
    [output] = await dealer.receive();
    output = readOutput(output, session.outputs);
  } while (output.seen < sequence && !output.status.includes("LAST"));
}
const error = Math.max(...output.tau.map((x, k) => Math.abs(x - (g.values[k] - 2 * v[k]))));
console.log(`state ${output.sequence}, status [${output.status}], |tau - (g - d v)| ${error}`);
await client.call("close", { session: session.session });

await client.call("dynamics", { q: [1, 2], want: ["M"] }).catch((refusal) => {
  console.log(`refused: ${refusal.message}`);
});
dealer.close();
client.close();
