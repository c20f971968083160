/**
 * Commands and parts of files with which senders deliver to this server.
 * A text from outside, such as a token, is quoted for the shell or for YAML and never ends the quotes.
 */

import type { InputAddress } from './addresses';

export interface Target {
  /** As senders reach the server. An IPv6 address may be without its brackets. */
  host: string;
  port: string;
  isTls: boolean;
  /** Whether senders have to be told to accept the certificate. */
  isSelfSigned: boolean;
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

const hostPart = (host: string) =>
  host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;

/** `host:port`, with brackets around an IPv6 address. */
const place = ({ host, port }: Target) => `${hostPart(host)}:${port}`;

export const urlOf = (target: Target): string =>
  `${target.isTls ? 'https' : 'http'}://${place(target)}`;

/** Whether the certificate is accepted unseen. */
const isUnverified = ({ isTls, isSelfSigned }: Target) => isTls && isSelfSigned;

const curl = (target: Target) => (isUnverified(target) ? 'curl -k' : 'curl');

export function hecRecipes(target: Target): Recipe[] {
  const address = urlOf(target);
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
      text: `docker run --log-driver=splunk \\\n  --log-opt ${shell(`splunk-url=${address}`)} \\\n  --log-opt ${shell(`splunk-token=${target.token}`)} \\\n  --log-opt ${shell(`splunk-index=${target.index}`)} \\\n  --log-opt splunk-insecureskipverify=${isUnverified(target)} IMAGE`,
    },
    {
      label: 'Vector, vector.yaml',
      text: `sinks:\n  karst:\n    type: splunk_hec_logs\n    inputs: [SOURCE]\n    endpoint: ${quoted(address)}\n    default_token: ${quoted(target.token)}\n    index: ${quoted(target.index)}\n    encoding:\n      codec: text${isUnverified(target) ? '\n    tls:\n      verify_certificate: false' : ''}`,
    },
  ];
}

const kind = ({ sourcetype }: Target): Record<string, string> =>
  sourcetype === '' ? {} : { sourcetype };

export function otlpRecipes(target: Target): Recipe[] {
  const address = urlOf(target);
  return [
    {
      label: 'OpenTelemetry Collector, config.yaml',
      text: `exporters:\n  otlphttp/karst:\n    logs_endpoint: ${quoted(`${address}/v1/logs`)}\n    headers:\n      Authorization: ${quoted(`Splunk ${target.token}`)}${isUnverified(target) ? '\n    tls:\n      insecure_skip_verify: true' : ''}\n${pipeline('otlphttp/karst')}`,
    },
    {
      label: 'Environment of an SDK',
      text: `export OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${shell(`${address}/v1/logs`)}\nexport OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=http/protobuf\nexport OTEL_EXPORTER_OTLP_LOGS_HEADERS=${shell(`Authorization=Splunk%20${target.token}`)}`,
    },
  ];
}

export function otlpGrpcRecipes(target: Target): Recipe[] {
  const tls = !target.isTls
    ? '\n    tls:\n      insecure: true'
    : isUnverified(target)
      ? '\n    tls:\n      insecure_skip_verify: true'
      : '';
  return [
    {
      label: 'OpenTelemetry Collector, config.yaml',
      text: `exporters:\n  otlp/karst:\n    endpoint: ${quoted(place(target))}\n    headers:\n      Authorization: ${quoted(`Splunk ${target.token}`)}${tls}\n${pipeline('otlp/karst')}`,
    },
    {
      label: 'Environment of an SDK',
      text: `export OTEL_EXPORTER_OTLP_LOGS_ENDPOINT=${shell(urlOf(target))}\nexport OTEL_EXPORTER_OTLP_LOGS_PROTOCOL=grpc\nexport OTEL_EXPORTER_OTLP_LOGS_HEADERS=${shell(`authorization=Splunk%20${target.token}`)}`,
    },
  ];
}

const pipeline = (exporter: string) =>
  `service:\n  pipelines:\n    logs:\n      receivers: [filelog]\n      exporters: [${exporter}]`;

export function elasticsearchRecipes(target: Target): Recipe[] {
  const address = urlOf(target);
  const document = JSON.stringify({ message: 'hello from curl' });
  const action = JSON.stringify({ create: { _index: target.index } });
  const off = isUnverified(target);
  return [
    {
      label: 'One event',
      text: `printf '%s\\n' ${shell(action)} ${shell(document)} | ${curl(target)} ${shell(`${address}/_bulk`)} \\\n  -H ${shell(`Authorization: ApiKey ${target.token}`)} -H 'Content-Type: application/x-ndjson' --data-binary @-`,
    },
    {
      label: 'Filebeat, filebeat.yml',
      text: `output.elasticsearch:\n  hosts: [${quoted(address)}]\n  username: any\n  password: ${quoted(target.token)}\n  index: ${quoted(target.index)}${off ? '\n  ssl.verification_mode: none' : ''}\nsetup.ilm.enabled: false\nsetup.template.enabled: false`,
    },
    {
      label: 'Logstash, output',
      text: `output {\n  elasticsearch {\n    hosts => [${quoted(address)}]\n    user => "any"\n    password => ${quoted(target.token)}\n    index => ${quoted(target.index)}\n    manage_template => false\n    ilm_enabled => false${off ? '\n    ssl_verification_mode => "none"' : ''}\n  }\n}`,
    },
    {
      label: 'Vector, vector.yaml',
      text: `sinks:\n  karst:\n    type: elasticsearch\n    inputs: [SOURCE]\n    endpoints: [${quoted(address)}]\n    bulk:\n      index: ${quoted(target.index)}\n    auth:\n      strategy: basic\n      user: any\n      password: ${quoted(target.token)}${off ? '\n    tls:\n      verify_certificate: false' : ''}`,
    },
  ];
}

export function lokiRecipes(target: Target): Recipe[] {
  const push = '/loki/api/v1/push';
  const address = `${urlOf(target)}${push}`;
  const [token, tenant] = [quoted(target.token), quoted(target.index)];
  const labels = { job: 'curl', ...kind(target) };
  const off = isUnverified(target);
  const withToken = address.replace('://', `://any:${encodeURIComponent(target.token)}@`);
  return [
    {
      label: 'One event',
      text: `printf '{"streams":[{"stream":%s,"values":[["%s000000000","hello from curl"]]}]}' \\\n  ${shell(JSON.stringify(labels))} "$(date +%s)" | ${curl(target)} ${shell(address)} \\\n  -H ${shell(`Authorization: Bearer ${target.token}`)} -H ${shell(`X-Scope-OrgID: ${target.index}`)} \\\n  -H 'Content-Type: application/json' --data-binary @-`,
    },
    {
      label: 'Promtail, promtail.yaml',
      text: `clients:\n  - url: ${quoted(address)}\n    tenant_id: ${tenant}\n    basic_auth:\n      username: any\n      password: ${token}${off ? '\n    tls_config:\n      insecure_skip_verify: true' : ''}`,
    },
    {
      label: 'Grafana Alloy, config.alloy',
      text: `loki.write "karst" {\n  endpoint {\n    url       = ${quoted(address)}\n    tenant_id = ${tenant}\n    basic_auth {\n      username = "any"\n      password = ${token}\n    }${off ? '\n    tls_config {\n      insecure_skip_verify = true\n    }' : ''}\n  }\n}`,
    },
    {
      label: 'Fluent Bit, fluent-bit.yaml',
      text: `pipeline:\n  outputs:\n    - name: loki\n      match: '*'\n      host: ${quoted(target.host)}\n      port: ${target.port}\n      tenant_id: ${tenant}\n      http_user: any\n      http_passwd: ${token}${target.isTls ? '\n      tls: on' : ''}${off ? '\n      tls.verify: off' : ''}`,
    },
    {
      label: 'Docker',
      text: `docker run --log-driver=loki \\\n  --log-opt ${shell(`loki-url=${withToken}`)} \\\n  --log-opt ${shell(`loki-tenant-id=${target.index}`)} \\\n  --log-opt loki-tls-insecure-skip-verify=${off} IMAGE`,
    },
  ];
}

/** Where a sender has its own certificate, if the port requires one. */
const CERTIFICATE = '/etc/ssl/certs/sender.pem';
const KEY = '/etc/ssl/private/sender-key.pem';

export function syslogRecipes(target: Target, isUdp: boolean, needsCertificate = false): Recipe[] {
  const { host, port } = target;
  const isTls = target.isTls && !isUdp;
  const [protocol, framing, flags] = isUdp
    ? ['udp', '', '--udp']
    : ['tcp', ' TCP_Framing="octet-counted"', '--tcp --octet-count'];
  // Without the certificate of its authority, senders encrypt and do not verify the server.
  const driver = isTls
    ? `\n           StreamDriver="ossl" StreamDriverMode="1" StreamDriverAuthMode="anon"${needsCertificate ? `\n           StreamDriver.CertFile="${CERTIFICATE}" StreamDriver.KeyFile="${KEY}"` : ''}`
    : '';
  const own = needsCertificate ? ` cert-file("${CERTIFICATE}") key-file("${KEY}")` : '';
  const transport = isTls ? `"tls") tls(peer-verify(no)${own}` : `"${protocol}"`;
  return [
    {
      label: 'rsyslog, /etc/rsyslog.d/karst.conf',
      text: `*.* action(type="omfwd" target=${quoted(host)} port=${quoted(port)} protocol="${protocol}"${framing}${driver}\n           queue.type="LinkedList" queue.filename="karst" action.resumeRetryCount="-1")`,
    },
    {
      label: 'syslog-ng, syslog-ng.conf',
      text: `destination d_karst { network(${quoted(host)} port(${port}) transport(${transport})); };\nlog { source(s_src); destination(d_karst); };`,
    },
    {
      label: 'A test message',
      text: isTls
        ? `echo '<13>hello from openssl' | openssl s_client -connect ${shell(place(target))}${needsCertificate ? ` -cert ${CERTIFICATE} -key ${KEY}` : ''}`
        : `logger --server ${shell(host)} --port ${shell(port)} ${flags} 'hello from logger'`,
    },
  ];
}

export function forwarderRecipes(target: Target, needsToken: boolean): Recipe[] {
  const { index, sourcetype } = target;
  const type = sourcetype === '' ? '' : `sourcetype = ${sourcetype}\n`;
  const token = needsToken ? 'token = the token of --forwarding-token\n' : '';
  const tls = !target.isTls
    ? ''
    : target.isSelfSigned
      ? 'useSSL = true\n'
      : 'useSSL = true\nsslVerifyServerCert = true\nsslRootCAPath = /etc/ssl/certs/ca-certificates.crt\n';
  return [
    {
      label: 'The machine with the logs, /etc/karst-forwarder/system/local/inputs.conf',
      text: `[monitor:///var/log/app]\nindex = ${index}\n${type}`,
    },
    {
      label: 'There, /etc/karst-forwarder/system/local/outputs.conf',
      text: `[tcpout]\ndefaultGroup = karst\n\n[tcpout:karst]\nserver = ${place(target)}\n${tls}${token}`,
    },
    {
      label: 'There',
      text: 'karst-forwarder btool outputs --check --conf-dir /etc/karst-forwarder\nkarst-forwarder run --conf-dir /etc/karst-forwarder --data-dir /var/lib/karst-forwarder',
    },
  ];
}

/** What senders are given for a way in. */
export function recipesOf(way: string, target: Target, input: InputAddress): Recipe[] {
  switch (way) {
    case 'hec':
      return hecRecipes(target);
    case 'otlp':
      return input.kind === 'otlp_grpc' ? otlpGrpcRecipes(target) : otlpRecipes(target);
    case 'elasticsearch':
      return elasticsearchRecipes(target);
    case 'loki':
      return lokiRecipes(target);
    case 'syslog':
      return syslogRecipes(
        target,
        input.kind === 'syslog_udp',
        input.credential === 'client_certificate',
      );
    default:
      return forwarderRecipes(target, input.credential === 'forwarder_token');
  }
}
