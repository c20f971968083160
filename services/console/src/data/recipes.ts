/**
 * Commands and parts of files with which senders deliver to this server.
 * A text from outside, such as a token, is quoted for the shell or for YAML and never ends the quotes.
 */

export interface Target {
  host: string;
  /** Of the HTTP Event Collector. */
  hecPort: string;
  isTls: boolean;
  token: string;
  index: string;
  sourcetype: string;
}

export interface Recipe {
  label: string;
  text: string;
}

/** A word of a POSIX shell. */
export const shell = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** A string of JSON, which is one of YAML, too. */
const quoted = (text: string): string => JSON.stringify(text);

const isLoopback = (host: string) => /^(?:localhost|127\.|\[?::1)/.test(host);

/** The collector is plain on loopback and has TLS everywhere else, unless the server was told otherwise. */
export const tlsOf = (host: string): boolean => !isLoopback(host);

const hostPart = (host: string) =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;

export function collectorAddress({ host, hecPort, isTls }: Target): string {
  return `${isTls ? 'https' : 'http'}://${hostPart(host)}:${hecPort}`;
}

/** An unknown certificate is accepted only where the address has TLS. */
const curl = (target: Target) => (target.isTls ? 'curl -k' : 'curl');

export function hecRecipes(target: Target): Recipe[] {
  const address = collectorAddress(target);
  const event = { event: 'hello from curl', index: target.index, ...kind(target) };
  const parameters = new URLSearchParams({ index: target.index, ...kind(target) });
  const auth = shell(`Authorization: Splunk ${target.token}`);
  return [
    {
      label: 'One event',
      text: `${curl(target)} ${shell(`${address}/services/collector/event`)} \\\n  -H ${auth} \\\n  -d ${shell(JSON.stringify(event))}`,
    },
    {
      label: 'A file, line by line',
      text: `${curl(target)} ${shell(`${address}/services/collector/raw?${parameters}`)} \\\n  -H ${auth} \\\n  --data-binary @app.log`,
    },
    {
      label: 'Docker',
      text: `docker run --log-driver=splunk \\\n  --log-opt ${shell(`splunk-url=${address}`)} \\\n  --log-opt ${shell(`splunk-token=${target.token}`)} \\\n  --log-opt ${shell(`splunk-index=${target.index}`)} \\\n  --log-opt splunk-insecureskipverify=${target.isTls} IMAGE`,
    },
    {
      label: 'Vector, vector.yaml',
      text: `sinks:\n  karst:\n    type: splunk_hec_logs\n    inputs: [SOURCE]\n    endpoint: ${quoted(address)}\n    default_token: ${quoted(target.token)}\n    index: ${quoted(target.index)}\n    encoding:\n      codec: text`,
    },
  ];
}

const kind = ({ sourcetype }: Target): Record<string, string> =>
  sourcetype === '' ? {} : { sourcetype };

export function otlpRecipes(target: Target): Recipe[] {
  const address = collectorAddress(target);
  return [
    {
      label: 'OpenTelemetry Collector, config.yaml',
      text: `exporters:\n  otlphttp/karst:\n    logs_endpoint: ${quoted(`${address}/v1/logs`)}\n    headers:\n      Authorization: ${quoted(`Splunk ${target.token}`)}${target.isTls ? '\n    tls:\n      insecure_skip_verify: true' : ''}\nservice:\n  pipelines:\n    logs:\n      receivers: [filelog]\n      exporters: [otlphttp/karst]`,
    },
    {
      label: 'Environment of an SDK',
      text: `export OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${shell(`${address}/v1/logs`)}\nexport OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf\nexport OTEL_EXPORTER_OTLP_LOGS_HEADERS=${shell(`Authorization=Splunk%20${target.token}`)}`,
    },
  ];
}

export function syslogRecipes({ host, index }: Target, port: string): Recipe[] {
  return [
    {
      label: 'rsyslog, /etc/rsyslog.d/karst.conf',
      text: `*.* action(type="omfwd" target=${quoted(host)} port=${quoted(port)} protocol="tcp" TCP_Framing="octet-counted"\n           queue.type="LinkedList" queue.filename="karst" action.resumeRetryCount="-1")`,
    },
    {
      label: 'A message for a try',
      text: `logger --server ${shell(host)} --port ${shell(port)} --tcp --octet-count 'hello from logger'`,
    },
    {
      label: 'The server, if the port is not open yet',
      text: `karst server --syslog-tcp 0.0.0.0:${port} --syslog-udp 0.0.0.0:${port} --syslog-index ${shell(index)}`,
    },
  ];
}

export function forwarderRecipes({ host, index, sourcetype }: Target, port: string): Recipe[] {
  const type = sourcetype === '' ? '' : `sourcetype = ${sourcetype}\n`;
  return [
    {
      label: 'The machine with the logs, /etc/karst-forwarder/system/local/inputs.conf',
      text: `[monitor:///var/log/app]\nindex = ${index}\n${type}`,
    },
    {
      label: 'There, /etc/karst-forwarder/system/local/outputs.conf',
      text: `[tcpout]\ndefaultGroup = karst\n\n[tcpout:karst]\nserver = ${host}:${port}\n`,
    },
    {
      label: 'There',
      text: 'karst-forwarder btool outputs --check --conf-dir /etc/karst-forwarder\nkarst-forwarder run --conf-dir /etc/karst-forwarder --data-dir /var/lib/karst-forwarder',
    },
    {
      label: 'The server, if the port is not open yet',
      text: `karst server --forwarding-address 0.0.0.0:${port}`,
    },
  ];
}
