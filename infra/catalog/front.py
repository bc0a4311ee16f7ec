"""The front: an internal load balancer that ends TLS, and the name by which clients in the VPC find it."""

from aws_cdk import Duration, aws_certificatemanager, aws_ec2, aws_route53
from aws_cdk import aws_elasticloadbalancingv2 as balancing
from aws_cdk.aws_route53_targets import LoadBalancerTarget
from constructs import Construct

from infra.catalog.network import CatalogNetwork
from infra.catalog.server import Server
from infra.catalog.settings import HEALTH, HEALTH_PORT, PORT
from infra.config import Config
from infra.waivers import waive

HTTPS = 443
LONGEST_CALL = Duration.seconds(100)  # lakegate's clients wait 90 seconds for an answer


class Front(Construct):
    """The only way to Nessie. Members of the group of clients reach it, and it alone reaches Nessie's two ports."""

    def __init__(
        self, scope: Construct, construct_id: str, *, config: Config, network: CatalogNetwork, server: Server
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = aws_ec2.SecurityGroup(
            self, "Group", vpc=network.vpc, description="Load balancer of the catalog", allow_all_outbound=False
        )
        self.group.add_ingress_rule(network.clients, aws_ec2.Port.tcp(HTTPS), "Clients of the catalog")
        for port, purpose in ((PORT, "Calls"), (HEALTH_PORT, "Health checks")):
            self.group.add_egress_rule(server.group, aws_ec2.Port.tcp(port), purpose)
            server.group.add_ingress_rule(self.group, aws_ec2.Port.tcp(port), purpose)
        self.balancer = balancing.ApplicationLoadBalancer(
            self,
            "Balancer",
            vpc=network.vpc,
            vpc_subnets=network.subnets,
            internet_facing=False,
            security_group=self.group,
            idle_timeout=LONGEST_CALL,
            drop_invalid_header_fields=True,
        )
        waive(
            self.balancer,
            rule="ELB2",
            reason="Nessie's own log has each call, with the caller's identity, which the balancer does not know.",
        )
        self.certificate = self._certificate(config)
        self.targets = self._serve(server)
        server.service.node.add_dependency(self.group)
        self._name(config.catalog_host, network)

    def _serve(self, server: Server) -> balancing.ApplicationTargetGroup:
        listener = self.balancer.add_listener(
            "Https",
            port=HTTPS,
            protocol=balancing.ApplicationProtocol.HTTPS,
            certificates=[balancing.ListenerCertificate.from_arn(self.certificate)],
            ssl_policy=balancing.SslPolicy.RECOMMENDED_TLS,
            open=False,
        )
        return listener.add_targets(
            "Nessie",
            port=PORT,
            protocol=balancing.ApplicationProtocol.HTTP,
            targets=[server.service.load_balancer_target(container_name="Nessie", container_port=PORT)],
            health_check=balancing.HealthCheck(path=HEALTH, port=str(HEALTH_PORT)),
            deregistration_delay=LONGEST_CALL,
        )

    def _certificate(self, config: Config) -> str:
        """Return the ARN of the certificate. ACM proves a new one by a record in the domain's public zone."""
        if config.catalog_certificate.startswith("arn:"):
            return config.catalog_certificate
        kind = aws_certificatemanager.CfnCertificate
        proof = kind.DomainValidationOptionProperty(
            domain_name=config.catalog_host, hosted_zone_id=config.catalog_certificate
        )
        certificate = kind(
            self,
            "Certificate",
            domain_name=config.catalog_host,
            validation_method="DNS",
            domain_validation_options=[proof],
        )
        return str(certificate.ref)

    def _name(self, host: str, network: CatalogNetwork) -> None:
        """Give the balancer its name, in a private zone of that one name: no other name of the domain is affected."""
        zone = aws_route53.PrivateHostedZone(self, "Zone", vpc=network.vpc, zone_name=host)
        target = aws_route53.RecordTarget.from_alias(LoadBalancerTarget(self.balancer))
        aws_route53.ARecord(self, "Name", zone=zone, target=target)
